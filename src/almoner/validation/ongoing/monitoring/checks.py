"""Self-checks of monitoring subscriptions: none is overdue, and each change was reported."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "monitoring.evaluated_on_time",
        "Every monitoring subscription is evaluated within 15 minutes of being due, for example after its creation or "
        "after the decision on its request",
        "Check that a worker is running, and look for dead monitoring_subscriptions.evaluate jobs. See "
        "docs/runbooks/stuck-queue.md",
        """
        with bounds as (select at - interval '15 min' as until from moment)
        select id from monitoring_subscription, bounds where status = 'pending' and status_changed_at < until
        union all
        select m.id from monitoring_subscription m join validation_request r on r.id = m.validation_request_id, bounds
        where m.status = 'pending_validation_request' and greatest(r.status_changed_at, m.created_at) < until
            and r.status <> 'pending'
        union all
        select id from monitoring_subscription, bounds where due_at < until
        """,
        "monitoringsubscription",
    ),
    ConsistencyCheck(
        "monitoring.results_match_last_change",
        "The results of every monitoring subscription match its last recorded change",
        "Somebody changed the tables directly. Compare the tables with the last good backup",
        """
        select m.id from monitoring_subscription m
        left join lateral (
            select facts -> 'results' as results from evidence c where c.record_id = m.id order by c.id desc limit 1
        ) told on true
        where coalesce(told.results, '{}') is distinct from jsonb_strip_nulls(jsonb_build_object(
            'complianceStatus', m.compliance_status, 'warning', m.warning, 'sanction', m.sanction,
            'hateSpeech', m.hate_speech, 'commercial', m.commercial, 'adverseMedia', m.adverse_media,
            'controversial', m.controversial, 'active', m.registration_active
        ))
        """,
        "monitoringsubscription",
    ),
    ConsistencyCheck(
        "monitoring.changes_reported_once",
        "Every change of results in the last 80 days was reported to the partner exactly once",
        "Somebody changed the tables directly. Compare the tables with the last good backup",
        """
        with bounds as (select at - interval '80 days' as since from moment),
        changed as (
            select partner_id, recorded_at as at, count(*) as n from evidence, bounds
            where kind = 'monitoring_subscription' and recorded_at > since group by 1, 2
        ),
        events as (
            select partner_id, created_at as at, count(*) as n from event, bounds
            where type = 'monitoring_subscription.updated' and created_at > since group by 1, 2
        )
        select partner_id || ' ' || at from changed c full join events e using (partner_id, at)
        where c.n is distinct from e.n
        """,
    ),
    ConsistencyCheck(
        "monitoring.confirmed_matches_are_flagged",
        "Within 15 minutes, a confirmed match flags its category in every monitoring subscription of the organisation",
        "Check that a worker is running, and look for dead monitoring_subscriptions.evaluate jobs. See "
        "docs/runbooks/stuck-queue.md",
        """
        select m.id from screening_match s
        join screening_subject w on w.id = s.screening_subject_id and w.type = 'organisation'
        join organisation o on o.id = w.subject_id
        join lateral (
            select coalesce(o.same_as, o.id) as id
            union all
            select id from organisation where same_as = coalesce(o.same_as, o.id)
        ) body on true
        join monitoring_subscription m on m.organisation_id = body.id and m.status = 'live'
        and m.simulated_results is null
        where s.decision = 'confirmed' and s.current and s.changed_at < (select at from moment) - interval '15 min'
            and 'flag' is distinct from case s.category
                when 'warning' then m.warning when 'sanction' then m.sanction when 'hateSpeech' then m.hate_speech
                when 'commercial' then m.commercial when 'adverseMedia' then m.adverse_media else m.controversial end
        """,
        "monitoringsubscription",
    ),
    ConsistencyCheck(
        "monitoring.organisations_are_screened",
        "All records of every monitored organisation are screened when a list changes",
        "Check that a worker is running. See docs/runbooks/stuck-queue.md. Report the finding to the project, "
        "because no monitored organisation may be skipped. The next import of the organisation's register or of a "
        "list fixes the subscription",
        """
        with bounds as (select at - interval '15 min' as until from moment)
        select m.id from bounds, monitoring_subscription m
        join organisation o on o.id = m.organisation_id
        join lateral (
            select coalesce(o.same_as, o.id) as id
            union all
            select id from organisation where same_as = coalesce(o.same_as, o.id)
        ) record on true
        left join screening_subject s on s.type = 'organisation' and s.subject_id = record.id
        where m.status = 'live' and m.simulated_results is null and m.screened_at < until and o.updated_at < until
            and s.monitored is distinct from true
        """,
        "monitoringsubscription",
    ),
    ConsistencyCheck(
        "monitoring.screened_against_current_lists",
        "Within an hour of the import of a list, all monitored organisations and applicants are screened against it",
        "Check that a worker is running, and look for dead matches.rescreen jobs. See docs/runbooks/stuck-queue.md",
        """
        select w.code from watchlist w
        join watchlist_load l on l.id = w.current_load_id
        left join monitoring_list c on c.list = w.code
        where l.loaded_at < (select at from moment) - interval '1 hour'
            and (c.compared_at is null or c.compared_at < l.loaded_at)
        """,
    ),
    ConsistencyCheck(
        "monitoring.lists_are_loaded",
        "While organisations are monitored, the required lists are loaded: a sanctions list if sanctions count "
        "towards compliance, and otherwise a list for at least one category that counts. If no list is loaded, every "
        "organisation passes unscreened",
        "Import a list. See docs/runbooks/watchlists.md",
        """
        select 'no list of '
            || case when 'sanction' = any(counted.flags) then 'sanction' else array_to_string(counted.flags, ', ') end
            || ' is loaded'
        from (
            select distinct coalesce(c.compliance_flags, '{sanction,warning,hateSpeech}') as flags
            from (
                select partner_id, configuration_id from monitoring_subscription
                where status = 'live' and simulated_results is null and screened_at < (select at
                from moment) - interval '1 day'
                group by 1, 2
            ) m
            left join hosted_configuration c on c.partner_id = m.partner_id
                and case when m.configuration_id is null then c.is_default else c.id = m.configuration_id end
        ) counted
        where cardinality(counted.flags) > 0 and not exists (
            select from watchlist w join watchlist_load l on l.id = w.current_load_id
            where l.organisation_categories && case when 'sanction' = any(counted.flags)
            then '{sanction}' else counted.flags end
        )
        """,
    ),
)
