"""What the self-check asks of monitoring subscriptions: none is forgotten, and each change was told."""

from typing import Final

from almoner.platform.selfcheck import Check

checks: Final = (
    Check(
        "monitoring.looked_at",
        "A monitoring subscription is looked at within 15 minutes of its creation and of its request's decision",
        "See that a worker runs: docs/runbooks/stuck-queue.md; the job is monitoring_subscriptions.evaluate",
        """
        with bounds as (select at - interval '15 min' as until from moment)
        select id from monitoring_subscription, bounds where status = 'pending' and status_changed_at < until
        union all
        select m.id from monitoring_subscription m join validation_request r on r.id = m.validation_request_id, bounds
        where m.status = 'pending_validation_request' and greatest(r.status_changed_at, m.created_at) < until
            and r.status <> 'pending'
        """,
        "monitoringsubscription",
    ),
    Check(
        "monitoring.results_are_the_last_told",
        "The results of a monitoring subscription are those of its last change",
        "Somebody wrote to the tables: compare with the last good backup",
        """
        select m.id from monitoring_subscription m
        left join lateral (
            select results from monitoring_change c where c.subscription_id = m.id order by c.id desc limit 1
        ) told on true
        where coalesce(told.results, '{}') is distinct from jsonb_strip_nulls(jsonb_build_object(
            'complianceStatus', m.compliance_status, 'warning', m.warning, 'sanction', m.sanction,
            'hateSpeech', m.hate_speech, 'commercial', m.commercial, 'adverseMedia', m.adverse_media,
            'controversial', m.controversial, 'active', m.registration_active
        ))
        """,
        "monitoringsubscription",
    ),
    Check(
        "monitoring.changes_are_told",
        "Each change of results of the last 80 days was told to the partner once",
        "Somebody wrote to the tables: compare with the last good backup",
        """
        with bounds as (select at - interval '80 days' as since from moment),
        changed as (
            select m.partner_id, c.changed_at as at, count(*) as n from bounds, monitoring_change c
            join monitoring_subscription m on m.id = c.subscription_id where c.changed_at > since group by 1, 2
        ),
        events as (
            select partner_id, created_at as at, count(*) as n from event, bounds
            where type = 'monitoring_subscription.updated' and created_at > since group by 1, 2
        )
        select partner_id || ' ' || at from changed c full join events e using (partner_id, at)
        where c.n is distinct from e.n
        """,
    ),
    Check(
        "monitoring.confirmed_matches_are_flagged",
        "A match that a person confirmed flags its category within 15 minutes, wherever its organisation is monitored",
        "See that a worker runs: docs/runbooks/stuck-queue.md; the job is monitoring_subscriptions.evaluate",
        """
        select m.id from screening_match s
        join screening_subject w on w.id = s.subject and w.type = 'organisation'
        join monitoring_subscription m on m.organisation_id = w.subject_id and m.status = 'live' and m.chosen is null
        where s.decision = 'confirmed' and s.current and s.changed_at < (select at from moment) - interval '15 min'
            and 'flag' is distinct from case s.category
                when 'warning' then m.warning when 'sanction' then m.sanction when 'hateSpeech' then m.hate_speech
                when 'commercial' then m.commercial when 'adverseMedia' then m.adverse_media else m.controversial end
        """,
        "monitoringsubscription",
    ),
)
