"""Forms of an English word that no stemmer brings together: *went* and *gone* belong to *go*, *children* to *child*.

Questions use them on their own side ("when did she go" is answered by "I went"), so the index does not know of them.
"""

from __future__ import annotations

__all__ = ["forms_of"]

_FAMILIES = """arise arose arisen, awake awoke awoken, bear bore borne, beat beaten, become became, begin began begun,
bend bent, bind bound, bite bit bitten, bleed bled, blow blew blown, break broke broken, breed bred, bring brought,
build built, burn burnt, buy bought, catch caught, child children, choose chose chosen, cling clung, come came,
creep crept, deal dealt, dig dug, dive dove, draw drew drawn, dream dreamt, drink drank drunk, drive drove driven,
eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, find found, flee fled, fly flew flown, foot feet,
forbid forbade forbidden, forget forgot forgotten, forgive forgave forgiven, freeze froze frozen, get got gotten,
give gave given, go went gone goes, goose geese, grind ground, grow grew grown, half halves, hang hung, hear heard,
hide hid hidden, hold held, keep kept, kneel knelt, knife knives, know knew known, lay laid, lead led, leaf leaves,
leap leapt, learn learnt, leave left, lend lent, lie lain, life lives, light lit, lose lost, make made, man men,
mean meant, meet met, mistake mistook mistaken, mouse mice, overcome overcame, pay paid, person people,
prove proven, ride rode ridden, ring rang rung, rise rose risen, run ran, say said, see saw seen, seek sought,
sell sold, send sent, sew sewn, shake shook shaken, shelf shelves, shine shone, shoot shot, show shown,
shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat, sleep slept, slide slid, smell smelt,
speak spoke spoken, speed sped, spell spelt, spend spent, spill spilt, spin spun, spring sprang sprung,
stand stood, steal stole stolen, stick stuck, sting stung, strike struck, strive strove striven,
swear swore sworn, sweep swept, swim swam swum, swing swung, take took taken, teach taught, tear tore torn,
tell told, thief thieves, think thought, throw threw thrown, tooth teeth, undergo underwent undergone,
understand understood, undertake undertook undertaken, wake woke woken, wear wore worn, weave wove woven, weep wept,
wife wives, win won, withdraw withdrew withdrawn, wolf wolves, woman women, write wrote written"""
_FORMS = {word: family for line in _FAMILIES.split(",") if (family := tuple(line.split())) for word in family}


def forms_of(word: str) -> tuple[str, ...]:
    """The other irregular forms of *word*, however it is capitalised; none for most words.

    >>> forms_of("Went"), forms_of("painting")
    (('go', 'gone', 'goes'), ())
    """
    plain = word.casefold()
    return tuple(form for form in _FORMS.get(plain, ()) if form != plain)
