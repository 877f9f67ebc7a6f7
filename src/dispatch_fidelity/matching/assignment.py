"""One-to-one pairs of equal claims and equal calls: most pairs, best agreement of results, then log order.

Everything works on queues and counters. The one place that compares results pair by pair does so on
distinct results and is bounded; what it cannot reach is paired in log order and said to be so.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable
from typing import NamedTuple

from ..model.claim import Claim, Polarity
from ..model.execution import Execution
from .policy import Policy
from .results import carries, claims_value, result_key, text_of

COMPARISONS = 4096


class Pair(NamedTuple):
    """A claim and the execution assigned to it; ``certain`` is false where results could not all be compared."""

    claim: int
    execution: Execution
    certain: bool = True


def assign(
    claims: list[tuple[int, Claim]], free: list[Execution], policy: Policy
) -> tuple[list[Pair], list[int], list[Execution]]:
    """Pairs, the numbers of the claims that are left, and the executions that are left.

    1. equal results; 2. told failures with failed calls; 3. told values with successes that carry them, then
    with any success; 4. the rest in log order: no value told goes to successes first, a value to open calls
    before failed ones, a failure to open calls before successes.
    """
    if len(claims) == 1 and len(free) == 1:
        return [Pair(claims[0][0], free[0])], [], []
    pairs: list[Pair] = []
    waiting = {id(execution): execution for execution in free}

    def take(number: int, execution: Execution, certain: bool = True) -> None:
        pairs.append(Pair(number, execution, certain))
        del waiting[id(execution)]

    # 1. Equal results.
    equal: dict[Hashable, deque[Execution]] = defaultdict(deque)
    for execution in free:
        if execution.succeeded:
            equal[result_key(execution.result)].append(execution)
    rest: list[tuple[int, Claim]] = []
    silent: list[tuple[int, Claim]] = []
    for number, claim in claims:
        if not claims_value(claim.result):
            silent.append((number, claim))
            continue
        queue = equal.get(result_key(claim.result))
        if queue:
            take(number, queue.popleft())
        else:
            rest.append((number, claim))
    # 2. Told failures.
    told: list[tuple[int, Claim]] = []
    failures: list[tuple[int, Claim]] = []
    quiet: list[tuple[int, Claim]] = []
    for number, claim in [*rest, *silent]:
        if policy.polarity(claim) is Polarity.FAILED:
            failures.append((number, claim))
        else:
            (told if claims_value(claim.result) else quiet).append((number, claim))
    failures = _pair_failures(failures, [e for e in waiting.values() if e.failed], take)
    # 3. Told values with the successes that carry them.
    told = _pair_values(told, [e for e in waiting.values() if e.succeeded], policy, take)
    # 4. The rest.
    order: list[tuple[list[tuple[int, Claim]], tuple[Callable[[Execution], bool], ...]]] = [
        (told, (_succeeded, _open, _failed)),
        (failures, (_failed, _open, _succeeded)),
        (quiet, (_succeeded, _failed, _open)),
    ]
    left: list[int] = []
    for group, preferences in order:
        queues = [deque(e for e in waiting.values() if wanted(e)) for wanted in preferences]
        for number, _claim in group:
            queue = next((queue for queue in queues if queue), None)
            if queue is None:
                left.append(number)
            else:
                take(number, queue.popleft())
    return pairs, left, list(waiting.values())


def _succeeded(execution: Execution) -> bool:
    return execution.succeeded


def _failed(execution: Execution) -> bool:
    return execution.failed


def _open(execution: Execution) -> bool:
    return execution.open


def _pair_failures(
    claims: list[tuple[int, Claim]], failed: list[Execution], take: Callable[..., None]
) -> list[tuple[int, Claim]]:
    """First the failures that name the error of a call, then the others in order."""
    named: dict[str, deque[Execution]] = defaultdict(deque)
    for execution in failed:
        named[execution.error].append(execution)
    errors = list(named)[:64]
    rest = []
    for number, claim in claims:
        words = text_of([value for value in (claim.error, claim.result) if claims_value(value)])
        error = next((error for error in errors if error and error in words and named[error]), None)
        if error is None:
            rest.append((number, claim))
        else:
            take(number, named[error].popleft())
    queue = deque(execution for group in named.values() for execution in group)
    queue = deque(sorted(queue, key=lambda execution: execution.n))
    left = []
    for number, claim in rest:
        if queue:
            take(number, queue.popleft())
        else:
            left.append((number, claim))
    return left


def _pair_values(
    claims: list[tuple[int, Claim]], succeeded: list[Execution], policy: Policy, take: Callable[..., None]
) -> list[tuple[int, Claim]]:
    """Values told in other words: each claim takes a success whose result it carries, by augmenting paths."""
    if not claims or not succeeded:
        return claims
    texts: dict[str, list[tuple[int, Claim]]] = defaultdict(list)
    for number, claim in claims:
        texts[text_of(claim.result)].append((number, claim))
    results: dict[Hashable, deque[Execution]] = defaultdict(deque)
    for execution in succeeded:
        results[result_key(execution.result)].append(execution)
    if len(texts) * len(results) > COMPARISONS:
        queue = deque(succeeded)
        for number, _claim in claims[: len(succeeded)]:
            take(number, queue.popleft(), False)
        return claims[len(succeeded) :]
    fits = {
        text: [
            key for key, queue in results.items() if carries(group[0][1].result, queue[0], policy.read_blob)
        ]
        for text, group in texts.items()
    }
    supply = {text: len(group) for text, group in texts.items()}
    capacity = {key: len(queue) for key, queue in results.items()}
    flow = _largest_flow(supply, capacity, fits)
    left = []
    for text, group in texts.items():
        taken = [key for key in fits[text] for _ in range(flow.get((text, key), 0))]
        for (number, _claim), key in zip(group, taken, strict=False):
            take(number, results[key].popleft())
        left += group[len(taken) :]
    return sorted(left, key=lambda item: item[0])


def _largest_flow(
    supply: dict[str, int], capacity: dict[Hashable, int], fits: dict[str, list[Hashable]]
) -> dict[tuple[str, Hashable], int]:
    """How many claims of each wording go to each result, so that as many as possible find one (augmenting paths)."""
    flow: dict[tuple[str, Hashable], int] = {}
    free = dict(capacity)
    users: dict[Hashable, set[str]] = defaultdict(set)
    for text, wanted in supply.items():
        while wanted > 0:
            came_from: dict[Hashable, str] = {}
            moved_from: dict[str, Hashable] = {}
            queue = deque([text])
            goal: Hashable = None
            while queue and goal is None:
                at = queue.popleft()
                for key in fits[at]:
                    if key in came_from:
                        continue
                    came_from[key] = at
                    if free[key] > 0:
                        goal = key
                        break
                    for other in users[key]:
                        if other != text and other not in moved_from:
                            moved_from[other] = key
                            queue.append(other)
            if goal is None:
                break
            path = [(came_from[goal], goal)]
            while path[-1][0] != text:
                key = moved_from[path[-1][0]]
                path.append((came_from[key], key))
            amount = min([wanted, free[goal], *(flow[item, moved_from[item]] for item, _ in path[:-1])])
            for item, key in path:
                flow[item, key] = flow.get((item, key), 0) + amount
                users[key].add(item)
                if item != text:
                    back = moved_from[item]
                    flow[item, back] -= amount
                    if not flow[item, back]:
                        users[back].discard(item)
            free[goal] -= amount
            wanted -= amount
    return flow
