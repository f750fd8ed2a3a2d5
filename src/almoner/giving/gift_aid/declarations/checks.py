"""Self-checks of Gift Aid: a donation has only a declaration that covers it."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "gift_aid.declarations_cover_donations",
        "Every declaration on a donation covers the donation's time, user and charity, and the nonprofit is in the UK",
        "Somebody changed the tables directly. Do not claim Gift Aid for this donation until this is corrected",
        """
        select d.id from donation d join gift_aid_declaration g on g.id = d.gift_aid_id
        join organisation o on o.id = d.organisation_id
        where o.country_code <> 'GBR' or d.created_at < g.covers_from or d.created_at >= g.covers_to
           or d.created_at >= g.cancelled_from
           or (g.user_id is not null and g.user_id is distinct from d.user_id)
           or (g.organisation_id is not null and g.organisation_id <> d.organisation_id)
        """,
        "donation",
    ),
)
