"""What the self-check asks of gift aid: a donation bears only a declaration that covers it."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "gift_aid.covers_its_gifts",
        "A donation bears a declaration only if that covers the moment it was made, for its user and a UK nonprofit",
        "Somebody has written to the tables around the service: claim nothing for this donation until it is put right",
        """
        select d.id from donation d join gift_aid_declaration g on g.id = d.gift_aid_id
        join organisation o on o.id = d.organisation_id
        where o.country_code <> 'GBR' or d.created_at < g.covers_from or d.created_at >= g.covers_to
           or d.created_at >= g.cancelled_from
           or (g.user_id is not null and g.user_id is distinct from d.user_id)
        """,
        "donation",
    ),
)
