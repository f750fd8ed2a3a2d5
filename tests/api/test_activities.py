"""Activity tags (settled 1.1, 2, 4, 8)."""

from tests.support.client import Client, data


async def test_all_tags_come_in_one_answer(publishable: Client) -> None:
    answer = await publishable.get("/v1/activity-tags")
    body = answer.json()
    assert (body["object"], body["totalResults"], len(body["data"])) == ("activity_tag", 24, 24)
    assert body["_links"]["next"] is body["_links"]["prev"] is None
    tag = body["data"][-1]
    assert set(tag) == {"id", "name", "description", "subTags", "createdAt", "updatedAt"}
    assert (tag["name"], tag["createdAt"], tag["updatedAt"]) == (
        "Animals",
        "2026-11-21T00:00:00.000Z",
        "2026-11-21T00:00:00.000Z",
    )
    sub = tag["subTags"][1]
    assert set(sub) == {"id", "name", "tagId", "description", "createdAt", "updatedAt"}
    assert (sub["name"], sub["tagId"]) == ("Cats", tag["id"])
    assert sub["id"].startswith("sandbox_activitysubtag_")


async def test_settled_1_the_direction_holds_here_too(publishable: Client) -> None:
    first = data(await publishable.get("/v1/activity-tags", direction="ASC"))
    assert first == data(await publishable.get("/v1/activity-tags"))[::-1]


async def test_one_tag(api: Client, publishable: Client) -> None:
    tag = data(await api.get("/v1/activity-tags", direction="ASC"))[0]
    answer = await publishable.get(f"/v1/activity-tags/{tag['id']}")
    assert answer.json() == {"data": tag, "object": "activity_tag"}
    assert (await api.get(f"/v1/activity-tags/{tag['subTags'][0]['id']}")).status_code == 404
    assert (await api.get("/v1/activity-tags/sandbox_activitytag_0190f2c4000000000000000000")).status_code == 404
