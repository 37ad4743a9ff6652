"""Dates and times beside the name of a credential, which are no secrets: "I need the PIN by 12 March".

The trained models see that a number stands near "PIN", and not that it counts days. What is part of a whole date or
time of day is taken from them. A day alone ("the 12th") is left to the models: a code may be told in pieces.
"""

from guard.lazy_regex import lazy_regex

__all__ = ["is_date_part"]

#: Most characters of a date on either side of a part of it.
_REACH = 32
#: Names of the months in the languages whose names of credentials the guard knows, and in their neighbours. Each ends
#: a word, with the endings of its cases. Chinese, Japanese and Korean dates have signs beside their numbers.
_MONTHS = (
    r"jan(?:uar[yi]?|uari|eiro)?|j[äa]nner|janvier|enero|gennaio|feb(?:ruar[yi]?|ruari|braio|rero)?|febrero|"
    r"f[ée]v(?:rier|ereiro)?|mar(?:ch|s|zo|[çc]o|t|ts)?|m[äa]rz|maart|mrt|apr(?:il|ile)?|abr(?:il)?|avr(?:il)?|"
    r"ma[iyj]|mei|mayo|maggio|maio|june?|jun[io]o?|juin|giugno|junho|july?|juli|julio|juil(?:let)?|luglio|julho|"
    r"aug(?:ust|ustus|usti)?|ao[uû]t|agosto|sept?(?:ember|embre|tembre)?|set(?:tembre|embro)|septiembre|"
    r"o[ck]t(?:ober|obre|ubre)?|ottobre|outubro|nov(?:ember|embre|iembre|embro)?|de[czs](?:ember|embre|embro)?|"
    r"diciembre|dicembre|"
    r"stycz(?:eń|nia)|lut(?:y|ego)|marc[ae]|kwie(?:cień|tnia)|maja|czerw(?:iec|ca)|lip(?:iec|ca)|sierp(?:ień|nia)|"
    r"wrze(?:sień|śnia)|październik\w?|listopad\w?|grud(?:zień|nia)|"
    r"led(?:en|na)|únor\w?|březn?\w{1,2}|dub(?:en|na)|květ(?:en|na)|červ(?:en|na|enec|ence)|srp(?:en|na)|září|říj(?:en|na)|"
    r"prosin(?:ec|ce)|tammi\w+|helmi\w+|maalis\w+|huhti\w+|touko\w+|kesäk\w+|heinäk\w+|elok\w+|syysk\w+|lokak\w+|"
    r"marrask\w+|jouluk\w+|ocak|şubat|nisan|mayıs|haziran|temmuz|ağustos|eylül|ekim|kasım|aralık|"
    r"ianuarie|februarie|martie|aprilie|iunie|iulie|septembrie|octombrie|noiembrie|decembrie|"
    r"январ[ьяею]|феврал[ьяею]|март[ае]?|апрел[ьяею]|ма[йяею]|июн[ьяею]|июл[ьяею]|август[ае]?|сентябр[ьяею]|"
    r"октябр[ьяею]|ноябр[ьяею]|декабр[ьяею]|"
    r"січ(?:ень|ня)|лют(?:ий|ого)|берез(?:ень|ня)|квіт(?:ень|ня)|трав(?:ень|ня)|черв(?:ень|ня)|лип(?:ень|ня)|"
    r"серп(?:ень|ня)|верес(?:ень|ня)|жовт(?:ень|ня)|листопад[а]?|груд(?:ень|ня)|"
    r"[ιφμασοδ]\w*(?:άριος|αρίου|άρτιος|αρτίου|ρίλιος|ριλίου|άιος|αΐου|ούνιος|ουνίου|ούλιος|ουλίου|ύγουστος|"
    r"υγούστου|έμβριος|εμβρίου|ώβριος|ωβρίου)"
)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_ENDING = r"(?:\.|st|nd|rd|th|er|[eºª°]|[:-]?[ae]|-?го)?"
_JOIN = r"(?:,?\s{1,2}(?:of|de|den|der|del|di|do|d['’])?\s?|[-/])"
_YEAR = r"(?:,?\s(?:de\s|del\s)?(?:19|20)\d\d)?"
_DATE = lazy_regex(
    rf"(?i)(?<![\w.,:/-]){_DAY}{_ENDING}(?:\s?[-–]\s?{_DAY}{_ENDING})?{_JOIN}(?:{_MONTHS})\.?(?![^\W_]){_YEAR}"
    rf"|(?<!\w)(?:{_MONTHS})\.?\s(?:the\s)?{_DAY}(?:st|nd|rd|th)?(?![\w:]|[.,/-]\d){_YEAR}"
    r"|(?<![\w.,:/-])(?:19|20)\d\d([./-])(?:0?[1-9]|1[0-2])\1(?:0?[1-9]|[12]\d|3[01])(?!\w|[./-]\w)"
    rf"|(?<![\w.,:/-]){_DAY}([./-]) ?{_DAY}\2 ?(?:19|20)\d\d(?!\w|[./-]\w)"
    r"|(?<![\w.,:/-])(?:[01]?\d|2[0-4])(?:[:.h][0-5]\d)?\s?(?:uhr|o['’]clock|heures?|horas?|uur|ore|godz\w*|час\w*|"
    r"[ap]\.?m|h)(?!\w)"
)


def is_date_part(text: str, start: int, end: int) -> bool:
    """Return whether ``text[start:end]`` is a date, a time of day, or a part of one.

    >>> text = "Die PIN 47 brauche ich bis 12. März."
    >>> is_date_part(text, 27, 29), is_date_part(text, 8, 10)
    (True, False)
    """
    begin = max(0, start - _REACH)
    window = text[begin : end + _REACH]
    spans = (found.span() for found in _DATE.finditer(window))
    return any(begin + first <= start and end <= begin + last for first, last in spans)
