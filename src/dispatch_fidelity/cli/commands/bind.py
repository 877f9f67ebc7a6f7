"""Check that a manifest and a tool log are of one run.

Exit codes: 0 bound, 1 not bound, 2 unproven; 64 wrong usage, 65 input is not what it says, 66 input missing.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...audit import PROOFS, check_binding, choose
from ...evidence.manifest import read_manifest
from ...log.reader import load_log
from ...model.assessment import BindingStatus
from ...rendering.jsondoc import binding_document
from ...rendering.plain import binding_lines
from .. import console

_EXITS = {
    BindingStatus.PROVEN: 0,
    BindingStatus.FAILED: 1,
    BindingStatus.UNPROVEN: 2,
    BindingStatus.NOT_CHECKED: 2,
}


def add_arguments(parser: ArgumentParser) -> None:
    """The options of ``bind``."""
    parser.add_argument("--manifest", required=True, metavar="FILE", help="the sealed manifest of the run")
    parser.add_argument(
        "--log",
        required=True,
        action="append",
        metavar="FILE",
        help="the tool log; may be repeated for further streams",
    )
    parser.add_argument(
        "--binding-proof", choices=PROOFS, help="what proves it (default: as sealed, else canary)"
    )
    parser.add_argument(
        "--nonce-pattern", metavar="REGEX", help="a receipt of your own: its first group is the nonce"
    )
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - is standard output")


def run(args: Namespace) -> int:
    """Check one pair."""
    console.check_target(args.json, [args.manifest, *args.log])
    manifest = read_manifest(args.manifest)
    record = load_log(args.log)
    options = {"binding_proof": args.binding_proof, "nonce_pattern": args.nonce_pattern}
    choices = choose(options, manifest)
    binding = check_binding(manifest, record, choices.nonce_pattern or None, proof=choices.binding_proof)
    console.write_json(
        args.json,
        {
            "manifest": args.manifest,
            "run_id": binding.run_id,
            "binding": binding_document(binding),
            "proof": binding.proof,
        },
    )
    if not console.wants_only_json(args.json):
        console.show(binding_lines(binding))
    return _EXITS[binding.status]
