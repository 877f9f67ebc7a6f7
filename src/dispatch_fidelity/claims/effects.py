"""What a text says of effects, counts, values and units; the words that ``matching`` asks for are here.

The lists are small and closed, for English, German, French, Spanish and Portuguese. Each function is quiet where
it is in doubt: one word of doubt, of nothing or of a part, anywhere in the text, and the text states nothing.
Words are compared in lower case and without accents.
"""

from __future__ import annotations

import re
import unicodedata

_LONGEST = 1000
_TOKEN = re.compile(r"[^\W\d_]+(?:'[a-z]+)?|\d+(?:[.,]\d+)*|\[\s*\]|[^\w\s]|\n")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NOTHING = _words(
    "0 zero no not none nothing never nor neither without cannot already unchanged unaffected untouched unmodified "
    "same identical still kept keeps left leaves stays stayed remains remained noop skipped skips empty clean "
    "unnecessary satisfied matched "
    "nichts kein keine keinen keiner keines keinem null nicht bereits schon unverandert ohne gleich gleiche leer "
    "ubersprungen "
    "rien aucun aucune aucuns zero deja inchange inchangee inchanges inchangees pas sans vide ne n identique ignore "
    "nada ningun ninguna ninguno ya sin cero igual vacio vacia tampoco "
    "nenhum nenhuma ja sem nao inalterado inalterada inalterados inalteradas vazio vazia"
)
_DOUBT = _words(
    "if whether would should could can may might must will shall tried try attempt attempted asked requested "
    "supposed meant planned expected needs need ready check checked verify verified confirms that which who whose "
    "what when where earlier before previously previous yesterday ago last since once dry only just "
    "ob sollte sollten konnte versucht falls wenn fruher zuvor gestern vorher welche "
    "si essaye tente avant hier precedemment qui que "
    "intento antes ayer "
    "tentou tentei ontem"
)
# Groups of effects: u(pdate) d(elete) c(reate) k (commit) g (merge) r (rename, move) i(nstall) s (save, send).
_GROUPS = {
    word: group
    for group, words in {
        "u": "updated changed modified edited altered rewritten rewrote replaced patched reformatted adjusted "
        "aktualisiert geandert bearbeitet ersetzt angepasst "
        "modifie modifiee modifies modifiees remplace remplacee change changee misajour "
        "actualizado actualizada actualizados actualizadas modificado modificada modificados modificadas "
        "cambiado cambiada reemplazado actualizo actualice modifico modifique actualizaron modificaron "
        "atualizado atualizada atualizados atualizadas alterado alterada alterados alteradas substituido "
        "atualizei alterei atualizou alterou",
        "d": "deleted removed purged cleared dropped erased wiped cleaned destroyed "
        "geloscht entfernt bereinigt geleert "
        "supprime supprimee supprimes supprimees efface effacee effaces effacees retire retiree "
        "eliminado eliminada eliminados eliminadas borrado borrada borrados borradas elimino elimine borro "
        "borre eliminaron borraron "
        "excluido excluida excluidos excluidas apagado apagada apagados apagadas removido removida removidos "
        "removidas excluiu apaguei removi apagou removeu",
        "c": "created inserted added appended "
        "erstellt angelegt hinzugefugt eingefugt "
        "cree creee crees creees ajoute ajoutee ajoutes ajoutees insere inseree inseres inserees "
        "creado creada creados creadas anadido anadida anadidos anadidas insertado insertada insertados "
        "agregado agregada insertadas anadio inserto agrego "
        "criado criada criados criadas adicionado adicionada adicionados inserido inserida inseridos "
        "inseridas criei adicionei inseri",
        "k": "committed committet commitet eingecheckt commite",
        "g": "merged zusammengefuhrt gemergt fusionne fusionnee fusionado fusionada mesclado mesclada",
        "r": "renamed moved relocated umbenannt verschoben renomme renommee deplace deplacee deplaces "
        "renombrado renombrada movido movida movidos movidas renomeado renomeada",
        "i": "installed upgraded uninstalled installiert installe installee instalado instalada instalados",
        "s": "sent delivered archived archiviert gesendet versendet envoye envoyee envoyes enviado enviada "
        "enviados enviadas archivado arquivado cancelled canceled storniert annule annulee "
        "cancelado cancelada closed assigned",
    }.items()
    for word in words.split()
}
# Past forms that need no auxiliary.
_PRETERITES = _words(
    "rewrote actualizo actualice modifico modifique actualizaron modificaron atualizei alterei atualizou alterou "
    "elimino elimine borro borre eliminaron borraron excluiu apaguei removi apagou removeu anadio inserto agrego "
    "criei adicionei inseri"
)
_LEADS = _words(
    "i we have has had i've we've it he she they and then also successfully now finally "
    "ich wir habe haben erfolgreich und dann je j'ai nous avons ai et he hemos y eu nos e"
)
_PASSIVES = _words(
    "was were been got wurde wurden worden habe haben hat ete avons ai ont fue fueron sido foi foram"
)
_ATTRIBUTIVE = _words(
    "the a an newly recently just any all these those of der die das den ein eine le la les un une los las el o os as"
)
_STATES = _words("is are were was can ist sind est sont es son estan esta sao estao")
_ALL = "ukcdgri"  # what "nothing changed" denies; saving and sending are other things
# In what a tool says: nouns of effects, and participles which speak of any effect.
_LOGGED = {
    **_GROUPS,
    **dict.fromkeys(_words("changed modified affected altered changes change touched rewritten"), "*"),
    **dict.fromkeys(_words("updates update upserted refreshed"), "u"),
    **dict.fromkeys(_words("deletions deletion delete removals remove destroy"), "d"),
    **dict.fromkeys(_words("insertions insertion insert additions add create"), "c"),
    **dict.fromkeys(_words("commit commits"), "k"),
    **dict.fromkeys(_words("merge"), "g"),
    **dict.fromkeys(_words("install upgrade"), "i"),
}
_ACTS = frozenset(_GROUPS) | _words("affected touched upserted refreshed written saved copied uploaded")
_DENIALS = _words(
    "0 no not nothing none never already unchanged noop nichts keine kein nicht bereits unverandert rien aucun aucune "
    "deja inchange pas nada ningun ninguna ya sin nenhum nenhuma ja nao sem"
)
_BETWEEN = _words(": = count counts rows row files file records n num total number items documents docs")
_LABELS = _words("at on by since date time timestamp from")


def _folded(text: str) -> str:
    text = text.replace("’", "'")
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = "".join(mark for mark in text if not unicodedata.combining(mark))
    return re.sub(r"\bmise?s? a jour\b", "misajour", text.casefold())


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(_folded(text).replace('"', " ").replace("`", " ").replace("*", " "))


def _clauses(tokens: list[str], ends: str) -> list[list[str]]:
    clauses: list[list[str]] = [[]]
    for token in tokens:
        if token in ends:
            clauses.append([])
        else:
            clauses[-1].append(token)
    return [clause for clause in clauses if clause]


def _has_nothing(tokens: list[str]) -> bool:
    text = " ".join(tokens)
    return (
        any(token in _NOTHING or token.endswith("n't") for token in tokens)
        or "to date" in text
        or "up - to - date" in text
        or "as is" in text
        or "no - op" in text
    )


# -- effects -----------------------------------------------------------------------------------------------


def claimed_effects(text: str) -> dict[str, str]:
    """The effects that a claim states as done, by group, each with its word; empty where any word is in doubt."""
    if len(text) > _LONGEST:
        return {}
    tokens = _tokens(text)
    if _has_nothing(tokens) or any(token in _DOUBT for token in tokens):
        return {}
    found: dict[str, str] = {}
    for clause in _clauses(tokens, ".;,!?:\n()"):
        for place, word in enumerate(clause):
            group = _GROUPS.get(word)
            if group is not None and _is_act(clause, place):
                found.setdefault(group, word)
    return found


def _is_act(clause: list[str], place: int) -> bool:
    """Whether the participle is what was done: at the head, after a passive, or at the end; not before a noun."""
    before, after = clause[:place], clause[place + 1 :]
    if clause[place] in _PRETERITES:
        return True
    if before and before[-1] in _ATTRIBUTIVE:
        return False
    if all(word in _LEADS for word in before):
        return bool(after or before) and not any(word in _STATES for word in after)
    if any(word in _PASSIVES for word in before):
        return True
    at_end = not after or after[0] in ("successfully", "erfolgreich", "correctement", "correctamente")
    return at_end and not any(word in _STATES or word in ("to", "be", "a") for word in before)


def denied_effects(text: str) -> str:
    """The groups of effects that a tool's words say did not happen; empty where any effect happened.

    Data is read as words too: ``{"deleted":0}`` is "deleted: 0".
    """
    if len(text) > _LONGEST:
        return ""
    tag = re.fullmatch(r"\s*(?:(UPDATE|DELETE|MERGE) 0|(INSERT) 0 0)\s*", text)
    if tag:
        return {"UPDATE": "u", "DELETE": "d", "MERGE": "ucd", "INSERT": "c"}[tag[1] or tag[2]]
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).replace("_", " ")
    denied = set()
    for clause in _clauses(_tokens(spaced), ".;,!\n(){}"):
        words = " ".join(clause)
        deny = any(word in _DENIALS or word.endswith("n't") for word in clause)
        plain = "up to date" in words or "up - to - date" in words or "no - op" in words
        if plain or "noop" in clause or "unchanged" in clause or "nothing to do" in words:
            denied.add("*")
        seen = False
        for place, word in enumerate(clause):
            group = _LOGGED.get(word)
            if group is None and word not in _ACTS:
                continue
            if clause[place + 1 : place + 2] and clause[place + 1] in _LABELS:
                continue
            amount = _amount(clause, place)
            if amount is None:
                if word not in _ACTS and not deny:
                    continue
                amount = not deny
            if amount:
                return ""
            seen = True
            denied.add(group or "s")
        if not seen and ("already" in clause or "nothing" in clause[:1]) and len(clause) < 12:
            denied.add("*")
    return "".join(sorted(denied)) + (_ALL if "*" in denied else "")


def _amount(clause: list[str], place: int) -> bool | None:
    """Whether the number that stands with the word is above zero; None where none does."""
    after = place + 1
    while after < len(clause) and clause[after] in _BETWEEN:
        after += 1
    follows = clause[after] if after < len(clause) and after > place + 1 else ""
    if follows in ("false", "[]"):
        return False
    if follows == "true":
        return True
    if follows[:1].isdigit():
        return follows.strip("0.,") != ""
    for word in reversed(clause[max(0, place - 4) : place]):
        if word[:1].isdigit():
            return word.strip("0.,") != ""
        if word in ":=":
            return None
    return None


# -- counts ------------------------------------------------------------------------------------------------

_COUNT_LEADS = _words(
    "there are is were was i we it found got returned returns the a search query list result results response shows "
    "has have contains total of in all lists listed lookup call tool directory table database "
    "es gibt sind waren ich habe wir haben gefunden die suche liste enthalt insgesamt ergab "
    "il y a nous avons j'ai trouve la liste contient au "
    "hay se encontraron encontre lista contiene en "
    "ha existem foram encontrados encontrei contem no"
)
_COUNT_TAILS = _words(
    "found in total returned the result results list altogether overall exist matched were are was back "
    "gefunden insgesamt gibt es vorhanden au trouves trouvees encontrados encontradas en no"
)
_PLACES = _words(
    "table list database index folder queue directory inbox cart catalog catalogue collection repository system store "
    "tabelle liste datenbank ordner verzeichnis tabla base lista carpeta tabela pasta dossier"
)
_GENERIC = _words(
    "record row result item entry hit match entrie matche object element document file "
    "datensatze datensatz zeilen treffer eintrage ergebnisse dateien elemente "
    "enregistrement ligne resultat entree fichier registro fila resultado entrada archivo linha arquivo"
)
_OTHERS = _words(
    "page pages column columns field fields character characters word words call calls request requests attempt "
    "attempts step steps time times point points section sections table tables percent day days week weeks month "
    "months "
    "year years byte bytes token tokens error errors warning warnings bit bits way ways reason reasons version thing "
    "seiten spalten felder tage wochen monate jahre zeichen fehler schritte punkte prozent mal "
    "jours semaines mois ans colonnes champs erreurs fois dias semanas meses columnas campos errores veces paginas "
    "colunas erros vezes anos am pm january february march april may june july august september october november "
    "december januar februar marz mai juni juli oktober dezember o'clock uhr"
)
_PART = _words(
    "of open only least most top first last next more another new over under above below about approximately around "
    "roughly nearly almost some per each every with without where whose which who matching unique distinct different "
    "other others remaining left selected active after before since until from for between by to additional further "
    "them these those not no none page limit up half but plus "
    "davon von nur mindestens hochstens erste letzte mehr neue etwa rund ungefahr mit ohne ab bis pro je aktive "
    "dont seulement moins plus environ avec sans par premiers "
    "solo menos mas aproximadamente unos con sin por cada primeros "
    "apenas mais cerca com sem primeiros deles ellos"
)


def whole_count(text: str) -> tuple[int, str, bool] | None:
    """The one count that a text states of the whole: the number, its noun, and whether that means any record.

    None where the text has another number, a word that filters, or more than a plain statement of the count.
    """
    if len(text) > _LONGEST:
        return None
    tokens = _tokens(text)
    places = [place for place, token in enumerate(tokens) if token[0].isdigit()]
    if len(places) != 1:
        return None
    place = places[0]
    digits = tokens[place].replace(",", "")
    if not digits.isdigit() or len(digits) > 9 or place + 1 >= len(tokens):
        return None
    noun = tokens[place + 1]
    if not noun[0].isalpha() or len(noun) < 3 or noun in _OTHERS or noun in _PART or spelled_unit(noun):
        return None
    before, after = tokens[:place], tokens[place + 2 :]
    for end, token in enumerate(after):
        if token in ":(" or (token in ".!\n"):
            rest, after = after[end + 1 :], after[:end]
            # After a colon the things are listed; a sentence there says which of them are meant.
            if any(word in (_STATES if token == ":" else _PART) for word in rest):
                return None
            break
    if any(word not in _COUNT_LEADS and word not in ":,-" for word in before):
        return None
    if "of" in before and "total" not in before:
        return None
    if after and not all(word in _COUNT_TAILS for word in after):
        in_place = after[0] in ("in", "on", "im", "dans", "en", "na") and len(after) <= 4
        if not in_place or after[-1] not in _PLACES or any(word in _PART for word in after):
            return None
    stem = noun.rstrip("s")
    return int(digits), stem, stem in _GENERIC or noun in _GENERIC


# -- values ------------------------------------------------------------------------------------------------

_UNKNOWN = _words(
    "unknown missing absent unset undefined blank unassigned vacant unavailable n/a nil null unable failed fails lacks "
    "unclear unspecified nobody nowhere default "
    "unbekannt fehlt fehlend niemand unklar inconnu inconnue introuvable absent personne manque manquant desconocido "
    "desconocida falta nadie ausente desconhecido desconhecida ninguem now jetzt maintenant ahora agora"
)
_REMARKS = _words(
    "status result output note state outcome info summary response return returns answer step hint todo comment "
    "message "
    "warning error reason conclusion ergebnis ausgabe hinweis zustand antwort grund resultat sortie statut remarque "
    "reponse raison resultado salida estado nota respuesta motivo saida resposta "
    "command action call tool task exit file mode type language format time date day"
)
_FINE = _words(
    "ok okay done success successful true false passed pass complete completed finished yes valid active running "
    "online "
    "ready green healthy available erfolg fertig erledigt wahr ja succes termine vrai oui exito hecho listo verdadero "
    "si "
    "sucesso feito pronto verdadeiro sim the it this i a an as not empty python json markdown linux windows"
)
_NAME = r"[^\W\d_a-zà-ÿ](?:\.(?=[ ])|[\w'’-]*(?:\.\w+)?)"
_VALUE = (
    r"(?:[\"“„«'`]{1,2}(?P<quoted>[^\"“”„«»'`\n]{1,80})[\"”“»'`]|"
    r"(?P<mail>[\w.+-]{1,64}@[\w-]{1,64}\.\w{2,20}|https?://\S+)"
    rf"|(?P<name>{_NAME}(?:[ ](?:(?:van|von|de|da|del|di|der|of|bin|al)[ ])?{_NAME}){{0,5}})"
    r"(?P<end>\s*(?:[.,;!]|\Z|and\b|und\b|et\b|y\b|e\b))?)"
)


def stated_value(text: str) -> str:
    """The value that a text states in the form "X is Y", "X: Y" or "found Y"; empty where it may state none."""
    if len(text) > 400:
        return ""
    tokens = _tokens(text)
    if _has_nothing(tokens) or any(token in _UNKNOWN or token in _DOUBT for token in tokens):
        return ""
    copula = (
        r"(?P<subject>[^\W\d_][\w-]{0,40})(?P<link>[ ](?:is|are|was|were|ist|sind|war|lautet|hei(?:ß|ss)t|est|sont|"
        r"es|son|é|são|"
        r"found|returned|returns|lists|shows|named|called)(?:[ ](?:called|named))?[ ]|[\"']?\s?[:=]\s{0,2}|\A)"
    )
    found = re.search(rf"(?:\A(?:I[ ])?(?i:found|got|returned)[ ]|{copula}){_VALUE}", text)
    if found is None:
        return ""
    subject = _folded(found["subject"] or "")
    if subject in _REMARKS:
        return ""
    value: str = found["quoted"] or found["mail"] or found["name"]
    if _folded(value) in _FINE or _folded(value) in _GROUPS:
        return ""
    if found["name"]:
        if _folded(value).split(" ")[0] in _FINE:
            return ""
        several = " " in value
        german = (found["link"] or "").strip() in ("ist", "sind", "war")
        if not several and (german or found["end"] is None or value.isupper()):
            return ""
    return value


# -- units -------------------------------------------------------------------------------------------------

_UNIT_WORDS = {
    word: symbol
    for symbol, words in {
        "B": "byte bytes octet octets",
        "KB": "kilobyte kilobytes kilooctets",
        "MB": "megabyte megabytes megaoctets meg megs",
        "GB": "gigabyte gigabytes gigaoctets gig gigs",
        "TB": "terabyte terabytes",
        "KiB": "kibibyte kibibytes",
        "MiB": "mebibyte mebibytes",
        "GiB": "gibibyte gibibytes",
        "ns": "nanosecond nanoseconds",
        "us": "microsecond microseconds",
        "ms": "millisecond milliseconds millis millisekunden millisekunde milliseconde millisecondes milisegundos "
        "milissegundos",
        "s": "second seconds sekunde sekunden seconde secondes segundo segundos",
        "min": "minute minutes minuten minuto minutos",
        "h": "hour hours stunde stunden heure heures hora horas std",
        "d": "day days tag tage tagen jour jours dia dias",
        "wk": "week weeks woche wochen semaine semaines semana semanas",
        "mm": "millimeter millimeters millimetre millimetres milimetros",
        "cm": "centimeter centimeters centimetre centimetres zentimeter centimetros",
        "metre": "meter meters metre metres metro metros",
        "km": "kilometer kilometers kilometre kilometres kilometern kilometros quilometros",
        "ft": "foot feet",
        "inch": "inch inches zoll",
        "yd": "yard yards",
        "mi": "mile miles meilen milles millas milhas",
        "mg": "milligram milligrams milligramm",
        "g": "gram grams gramme grammes gramm gramos gramas",
        "kg": "kilogram kilograms kilo kilos kilogramm kilogramme kilogrammes kilogramos quilos",
        "t": "tonne tonnes tonnen tons ton toneladas",
        "pound": "pound pounds pfund livres libras",
        "oz": "ounce ounces unzen",
        "C": "celsius centigrade",
        "F": "fahrenheit",
        "kelvin": "kelvin kelvins",
        "deg": "degree degrees grad degres grados graus",
        "EUR": "euro euros",
        "$": "dollar dollars dolares",
        "JPY": "yen",
        "CNY": "yuan renminbi",
        "INR": "rupee rupees",
        "CHF": "franken",
        "cents": "cent cents centavos centimes centimos",
        "L": "liter liters litre litres litros",
        "mL": "milliliter milliliters millilitre millilitres mililitros",
        "gal": "gallon gallons",
        "kn": "knot knots knoten",
        "Hz": "hertz",
        "MHz": "megahertz",
        "GHz": "gigahertz",
        "W": "watt watts",
        "kW": "kilowatt kilowatts",
        "MW": "megawatt megawatts",
        "million": "million millions millionen millones milhoes",
        "thousand": "thousand tausend mille mil",
        "billion": "billion billions",
    }.items()
    for word in words.split()
}


def spelled_unit(word: str) -> str:
    """The symbol of a spelled-out unit; empty where the word is none."""
    return _UNIT_WORDS.get(_folded(word), "")
