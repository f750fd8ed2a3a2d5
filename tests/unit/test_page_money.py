"""What pages say about money, in every language: nothing that was not looked up, and what is certain instead."""

import json
import re
from typing import Final

import pytest

from almoner.platform.pages.translations import LOCALE_FOLDER

# How a language says that somebody was charged or was not, that a gift is paid, complete or safe.
CLAIMS: Final = {
    "en": r"charged?\b|debited|taken from|(been|was|is) paid\b|been completed|is complete\b|\bsafe[.:]|was refunded",
    "ar": r"خصم|لم يُدفع|دُفع هذا|تبرعك في أمان|اكتمل|تكتمل",
    "de": r"berechnet|abgebucht|nicht bezahlt|(wurde|ist) bezahlt|abgeschlossen|Spende ist sicher",
    "es": r"cobra(do)?\b|se ha pagado|completado|a salvo",
    "fr": r"débité|prélevé|été payé|effectué|en sécurité",
    "he": r"חויב|חיוב|מחויב|לא שולמה|הושלם תשלום|תרומתך בטוחה|שלך בטוחה",
    "it": r"addebitat|stata pagata|completato alcun|al sicuro",
    "ja": r"料金は|請求(は|されていません|されません)|お支払いは(まだ)?完了|安全です。|安全に保管",
    "nl": r"afgeschreven|nog niet betaald|is betaald|voltooid|is veilig",
    "pl": r"pobran[eo]\b|opłacon|została zakończona|jest bezpieczna",
    "pt-BR": r"cobra(do)?\b|foi paga|foi concluído|está segura\b",
    "uk": r"списан|списує|не оплачено|не завершено|в безпеці",
}
# Every message that does, with what is looked up before it is shown.
LOOKED_UP: Final = {
    "give.failed": "the attempt has failed at its provider",
    "give.tries.text": "all attempts have ended at their provider",
    "give.not_paid": "the provider has just said so",
    "give.paused.text": "there is no attempt, the attempts have failed, or the provider has just said so",
    "give.used.text": "the session has its gift",
    "waiting.unpaid.title": "the provider has just said so, or all attempts have ended there",
    "waiting.unpaid.text": "the provider has just said so, or all attempts have ended there",
    "test_provider.cards.declined_later": "what the test card does",
    "test_provider.cards.always_challenged": "what the test card does",
    "test_provider.declined": "the provider's own record of the try",
    "test_provider.ended.succeeded.title": "the provider's own record of the payment",
    "test_provider.ended.succeeded.text": "the provider's own record of the payment",
    "test_provider.ended.failed.text": "the provider's own record of the payment",
    "test_provider.ended.cancelled.text": "the provider's own record of the payment",
    "gift.returned": "the gift and its payouts",
    "gift.wait.held": "the gift and its payouts",
    "gift.void": "the gift and its refunds",
    "gift.refunded": "the gift and its refunds",
    "give.dedication.tell": "the email waits until the donation is paid",
}
AREAS: Final = ("page.", "give.", "gift.", "thanks.", "waiting.", "transfer.", "test_provider.", "statement.", "embed.")
CERTAIN: Final = "give.cookieless.next"


def messages(language: str) -> dict[str, str]:
    found = json.loads((LOCALE_FOLDER / f"{language}.json").read_text("utf-8"))
    return {key: " ".join([stated] if isinstance(stated, str) else stated.values()) for key, stated in found.items()}


def test_the_words_of_every_offered_language_are_known() -> None:
    assert CLAIMS.keys() == {path.stem for path in LOCALE_FOLDER.glob("*.json")}


@pytest.mark.parametrize("language", CLAIMS)
def test_no_message_claims_about_money_what_is_not_looked_up(language: str) -> None:
    claim = re.compile(CLAIMS[language])
    claiming = {key for key, stated in messages(language).items() if key.startswith(AREAS) and claim.search(stated)}
    assert claiming <= LOOKED_UP.keys()
    # The words find what is claimed in this language: a list that finds nothing would prove nothing.
    assert {"give.failed", "give.not_paid", "give.tries.text", "waiting.unpaid.title", "gift.wait.held"} <= claiming


@pytest.mark.parametrize("language", CLAIMS)
@pytest.mark.parametrize("key", ["give.unknown.text", "give.expired.text", "give.broken.text"])
def test_a_page_that_cannot_know_says_what_is_certain(language: str, key: str) -> None:
    stated = messages(language)
    assert stated[key].endswith(stated[CERTAIN])
