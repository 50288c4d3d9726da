"""The small words of a question, by language; written without accents."""

from __future__ import annotations

_LISTS = {
    "en": """
        a about an and any are as at be been but by can could d did do does for from had has have
        he her hers him his how i if in into is it its ll m me my of on or our out re s she should
        so some t than that the their them then there these they this those to up us ve was we were
        what when where which while who whom whose why will with would you your
    """,
    "de": """
        aber als am an auch auf aus bei bin bist da damit dann das dass dein deine dem den der des
        die dies diese dieser dieses du durch ein eine einem einen einer eines er es euch fur hab
        habe haben hat hatte hatten ich ihm ihn ihr ihre im in ist ja kann konnen man mein meine
        mich mir mit muss nach noch nun nur ob oder seid sein seine sich sie sind so soll uber um
        und uns unser unter vom von vor wann war waren warum was welche welcher welches wem wen wer
        werden wessen wie wieso will wir wird wo woher wohin wurde zu zum zur
    """,
    "es": """
        a al algo como con cual cuales cuando cuanto cuantos de del desde donde dos el ella ellas
        ellos en entre era eran eres es esa ese eso esta estaba estan estas este esto fue ha han hay
        la las le les lo los me mi mis muy nos o para pero por porque que quien quienes se ser si
        sin sobre son soy su sus te tiene tienen tu un una uno va van y ya yo
    """,
    "fr": """
        a ai au aux avec c ce ces cette combien comment d dans de des donc du elle elles en est et
        etait eux fait il ils j je l la le les leur lui m ma mais me mes moi mon n ne nos notre nous
        on ont ou par pas pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa se ses
        son sont sur t ta te tes toi ton tu un une va vos votre vous y
    """,
    "it": """
        a ad ai al alla che chi ci come con cosa cui da dal dalla dei del della delle di dove e ed
        era gli ha hai hanno ho i il in io la le lei lo loro lui ma mi mia mio ne nel nella noi non
        o per perche piu qual quale quali quando quanto quanti questo questa qui se si sono su sua
        suo sul ti tra tu un una uno vi
    """,
    "pt": """
        a ao aos as com como da das de dela dele do dos e ela elas ele eles em entre era essa esse
        esta este eu foi ha isso isto ja la lhe mais mas me meu minha na nas no nos o onde os ou
        para pela pelo por porque qual quais quando quanto quantos que quem se sem ser seu sua sao
        tem um uma voce
    """,
    "nl": """
        aan als bij dat de der deze die dit door een en er haar had heb hebben heeft het hij hoe hun
        ik in is je kan met mijn naar niet of om onze ook op over te tot u uit van veel voor waar
        waarom wanneer was wat we welk welke werd wie wij ze zij zijn zo zou
    """,
}

STOPWORDS: dict[str, frozenset[str]] = {
    name: frozenset(text.split()) for name, text in _LISTS.items()
}
"""Language code to words. English comes first: it is taken when no list fits better."""
