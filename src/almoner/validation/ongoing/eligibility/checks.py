"""Self-checks of eligibility: no evaluation is overdue, and results match the current data."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "eligibility.evaluated_on_time",
        "Every eligibility subscription is evaluated within 15 minutes of being due",
        "Check that a worker is running, and look for dead eligibility_subscriptions.evaluate jobs. See "
        "docs/runbooks/stuck-queue.md",
        """
        with bounds as (select at - interval '15 min' as since from moment)
        select s.id from eligibility_subscription s, bounds
        where s.status = 'pending' and s.status_changed_at < since
        union all
        select s.id from eligibility_subscription s join validation_request r on r.id = s.validation_request_id, bounds
        where s.status = 'pending_validation_request' and greatest(r.accepted_at, r.rejected_at, s.created_at) < since
            and r.status <> 'pending'
        """,
        "eligibilitysubscription",
    ),
    ConsistencyCheck(
        "eligibility.results_have_evidence",
        "The results of every eligibility subscription match its last evaluation, which records the rule behind each "
        "result",
        "Somebody changed the tables directly. Compare the tables with the last good backup. See "
        "docs/runbooks/backup.md",
        """
        select s.id from eligibility_subscription s
        left join lateral (
            select e.id, e.outcome, e.steps from evidence e where e.record_id = s.id order by e.id desc limit 1
        ) last on true
        left join lateral (
            select coalesce(jsonb_object_agg(f.name, f.code) filter (where f.code is not null), '{}') as confirmed,
                coalesce(array_agg(f.name order by f.name) filter (where f.verdict = 'fail'), '{}') as rejected
            from jsonb_to_recordset(last.steps) as f (name text, verdict text, code text)
        ) found on true
        where s.status in ('live', 'cannot_define_eligibility') and (
            last.id is null or last.outcome is distinct from s.eligibility_status
            or found.confirmed <> s.confirmed
            or found.rejected <> array(select code from unnest(s.rejected) code order by code)
        )
        """,
        "eligibilitysubscription",
    ),
    ConsistencyCheck(
        "eligibility.configurations_are_current",
        "Every eligibility subscription was evaluated with the sub-tags that its configuration now allows",
        "Check that a worker is running, and look for dead eligibility_subscriptions.reevaluate jobs. See "
        "docs/runbooks/stuck-queue.md",
        """
        select s.id from eligibility_subscription s
        left join hosted_configuration c on c.partner_id = s.partner_id
            and case when s.configuration_id is null then c.is_default else c.id = s.configuration_id end
        cross join lateral (
            select e.facts from evidence e where e.record_id = s.id order by e.id desc limit 1
        ) last
        where s.status in ('live', 'cannot_define_eligibility')
            and (c.updated_at is null or c.updated_at < (select at from moment) - interval '15 min')
            and nullif(last.facts -> 'allowed', 'null') is distinct from (
                select jsonb_agg(code order by code collate "C") from unnest(c.allowed_activity_sub_tags) code
            )
        """,
        "eligibilitysubscription",
    ),
    ConsistencyCheck(
        "eligibility.register_data_is_current",
        "Every eligibility subscription is based on the current register data of its organisation",
        "Check that a worker is running. See docs/runbooks/stuck-queue.md. To evaluate all subscriptions again, apply "
        "the rules under Activities in the console, or run `almoner activities apply`",
        """
        select s.id from eligibility_subscription s
        join organisation named on named.id = s.organisation_id
        join organisation o on o.id = coalesce(named.same_as, named.id)
        cross join lateral (
            select e.facts from evidence e where e.record_id = s.id order by e.id desc limit 1
        ) last
        where s.status in ('live', 'cannot_define_eligibility')
            and last.facts -> 'classification' <> coalesce(o.activities, '{}')
            and o.updated_at < (select at from moment) - interval '15 min'
            and not exists (select from organisation_change_notification t where t.completed_at is null)
        """,
        "eligibilitysubscription",
    ),
)
