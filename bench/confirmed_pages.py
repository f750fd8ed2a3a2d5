"""The console's pages that ask for a recent confirmation, and the records that they are about."""

from collections.abc import Mapping

from bench.dashboard import Ask

_OF_RECORDS: Mapping[str, tuple[str, ...]] = {
    "pending request": ("/reviews/{id}", "/reviews/{id}/accept", "/reviews/{id}/reject", "/reviews/{id}/request"),
    "agent": ("/reviews/{id}", "/reviews/{id}/accept", "/reviews/{id}/reject", "/reviews/{id}/request"),
    "second look": ("/reviews/second-looks/{id}", "/reviews/second-looks/{id}/answer"),
    "verification": (
        *("/reviews/verifications/{id}", "/reviews/verifications/{id}/approve"),
        "/reviews/verifications/{id}/reject",
    ),
    "flag": ("/reviews/flags/{id}", "/reviews/flags/{id}/clear"),
    "pending refund": (
        *("/refunds/{id}", "/refunds/{id}/mark-sent", "/refunds/{id}/retry", "/refunds/{id}/mark-failed"),
    ),
    "failed refund": ("/refunds/{id}/resolve",),
    "dispute": (
        *("/disputes/{id}", "/disputes/{id}/mark-won", "/disputes/{id}/mark-lost", "/disputes/{id}/evidence/edit"),
        *("/disputes/{id}/evidence/upload", "/disputes/{id}/evidence/remove", "/disputes/{id}/evidence/submit"),
    ),
    "payment": (
        *("/unallocated-payments/{id}", "/unallocated-payments/{id}/refund", "/unallocated-payments/{id}/write-off"),
        "/unallocated-payments/{id}/record-refund",
    ),
    "account": ("/payee-accounts/{id}", "/payee-accounts/{id}/approve", "/payee-accounts/{id}/reject"),
    "new file": ("/payment-files/{id}", "/payment-files/{id}/release", "/payment-files/{id}/withdraw"),
    "released file": ("/payment-files/{id}", "/payment-files/{id}/download"),
    "sent disbursement": (
        *("/disbursements/{id}", "/disbursements/{id}/confirm", "/disbursements/{id}/mark-returned"),
        *("/disbursements/{id}/hold", "/disbursements/{id}/remittance"),
    ),
    "held nonprofit": ("/disbursements/holds/{id}/all/release",),
    "line": ("/bank-statement-lines/{id}", "/bank-statement-lines/{id}/match", "/bank-statement-lines/{id}/dismiss"),
    "draft": ("/gift-aid-claims/{id}", "/gift-aid-claims/{id}/mark-submitted", "/gift-aid-claims/{id}/schedule"),
    "key": ("/partners/{partner}/keys/{id}/rotate", "/partners/{partner}/keys/{id}/revoke"),
    "session": ("/sessions/{id}/end",),
    "upload": ("/bank-statements/uploads/{id}",),
}
_LISTS = (
    "/refunds?status=pending",
    "/refunds?status=sent",
    "/disputes?status=open",
    "/disputes?status=lost",
    "/unallocated-payments?status=held",
    "/unallocated-payments?status=refunded",
    "/payee-accounts?status=proposed",
    "/payee-accounts?status=approved",
    "/payment-files?status=released",
    "/gift-aid-claims?status=paid",
    "/reviews?applicant=waiting",
    "/reviews?applicant=answered",
    "/reviews?kind=agent_verification",
    "/reviews?kind=monetary_donation_verification",
    "/reviews?kind=verification_flag",
)
_OTHERS = (
    "/refunds/new",
    "/payment-files/new",
    "/payment-files/bank-answer",
    "/payee-accounts/propose",
    "/disbursements/run",
    "/bank-statements/upload",
    "/settlements/import",
    "/gift-aid-claims/draft",
    "/ledger/export",
    "/partners/new",
    "/partners/{partner}/keys/new",
    "/partners/{partner}/members/invite",
    "/partners/{partner}/view",
    "/register-imports/upload",
    "/watch-lists/upload",
    "/operators/invite",
    "/tokens",
)


def pages(records: Mapping[str, list[str]], partner: str) -> dict[str, Ask]:
    """The pages, by the path and what the record is."""
    made: dict[str, Ask] = {
        path.replace("{partner}", "…"): _page(path.replace("{partner}", partner)) for path in (*_LISTS, *_OTHERS)
    }
    for what, paths in _OF_RECORDS.items():
        for path in paths:
            name = path.replace("{partner}", "…").replace("{id}", "{" + what + "}")
            made[name] = _page(path.replace("{partner}", partner), records[what])
    return made


def _page(path: str, ids: list[str] | None = None) -> Ask:
    return lambda pick: path if ids is None else path.replace("{id}", pick.choice(ids))
