"""The queue in figures: what waits and since when, who decided how often, and how long it took."""

from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ReviewDecision
from tests.support.reviews import reviewers, waiting
from tests.support.service import Service


async def figures(service: Service) -> dict[str, float]:
    """What /metrics says of reviews."""
    telemetry = service.services.telemetry
    async with service.db.read() as tx:
        await reviews.collect_metrics(tx, telemetry)
        await reviews.collect_decision_metrics(tx, telemetry)
    lines = telemetry.render_metrics().decode().splitlines()
    reported = (line.rpartition(" ") for line in lines if line.startswith("almoner_review"))
    return {name: float(value) for name, _, value in reported}


async def test_the_queue_in_figures(alone: Service) -> None:
    api = alone.client((await alone.tenant()).secret)
    olive, otto = await reviewers(alone)
    nothing = await figures(alone)
    assert nothing['almoner_reviews_open{kind="match"}'] == 0
    assert nothing['almoner_review_oldest_seconds{kind="match"}'] == 0

    first, second, third = [await waiting(alone, api) for _ in range(3)]
    alone.clock.advance(seconds=900)
    await first.look(olive)
    await first.accept(olive)
    alone.clock.advance(hours=10)
    await second.look(otto)
    await second.reject(otto)
    reported = await figures(alone)
    assert reported['almoner_reviews_open{kind="match"}'] == 1
    assert reported['almoner_review_oldest_seconds{kind="match"}'] == 900 + 36_000
    assert reported['almoner_reviews_open{kind="validation_request"}'] == 0

    by = 'almoner_review_decisions_total{{by="{}",kind="match",verdict="{}"}}'
    assert reported[by.format(olive.id, "accepted")] == reported[by.format(otto.id, "rejected")] == 1
    assert not any(olive.name in name or otto.name in name for name in reported)
    exposed = alone.services.telemetry.render_metrics().decode()
    assert "# TYPE almoner_review_decisions_total counter" in exposed

    upto = 'almoner_review_wait_seconds_bucket{{kind="match",le="{}"}}'
    counts = [reported[upto.format(bound)] for bound in ("300.0", "900.0", "28800.0", "86400.0", "+Inf")]
    assert counts == [0, 1, 1, 2, 2], "a bound counts what took just as long"
    assert reported['almoner_review_wait_seconds_count{kind="match"}'] == 2
    assert reported['almoner_review_wait_seconds_sum{kind="match"}'] == 900 + 36_900

    async with alone.db.write() as tx:
        await reviews.withdraw_review(tx, third.subject)
        await reviews.record_decision(tx, third.subject, ReviewDecision("accepted", None, "rules", "By rule"))
    reported = await figures(alone)
    assert reported['almoner_reviews_open{kind="match"}'] == 0
    assert not any('by="rules"' in name for name in reported), "what nobody had to be asked for is no one's work"
    await api.close()
