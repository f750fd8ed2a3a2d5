"""The Python client against the service: every call, its errors, long lists, and a network that loses things."""

import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any, get_args, get_origin

import httpx
import msgspec
import pytest
from almoner_client import ApiConnectionError, ApiError, AsyncAlmoner, AsyncPage, AsyncPages, errors, models
from almoner_client._generated.codes import ERRORS_BY_CODE
from almoner_client._records import Record

from tests.support import factories, hostile_calls
from tests.support.client import Client
from tests.support.hostile_files import HONEST
from tests.support.lossy import LossyTransport
from tests.support.service import Service, Tenant
from tools import reference
from tools.clients.api_model import Api, Field, Operation
from tools.clients.python_client import snake

DESCRIPTION: dict[str, Any] = msgspec.json.decode((reference.PROJECT / "openapi.json").read_bytes())
OPERATIONS = {operation.id: operation for operation in Api(DESCRIPTION).operations}
MOST_REFUSED = 1 / 3  # calls of records that these tests do not make, such as appeals; their errors are looked at


def connected(service: Service, key: str, transport: httpx.AsyncBaseTransport | None = None) -> AsyncAlmoner:
    """A client of the service in this process."""
    http = httpx.AsyncClient(transport=transport or httpx.ASGITransport(service.app, client=("127.0.0.1", 50000)))
    return AsyncAlmoner(key, base_url=service.db.deployment.base_urls.api, http_client=http)


@pytest.fixture
async def client(service: Service, tenant: Tenant) -> AsyncIterator[AsyncAlmoner]:
    """Calls with the fresh partner's secret key."""
    async with connected(service, tenant.secret) as made:
        yield made


def method_of(client: AsyncAlmoner, operation: Operation) -> Callable[..., Any]:
    """The method that makes the call."""
    found: Callable[..., Any] = getattr(getattr(client, snake(operation.resource)), "_".join(operation.words))
    return found


def example_of(field: Field, known: dict[str, str]) -> Any:
    """A value for a path or a required member: an identifier that exists, else the example of the description."""
    options = (field.schema, *field.schema.get("anyOf", ()))
    type_ = next((one["x-id-type"] for one in options if "x-id-type" in one), None)
    if type_ in known:
        return known[type_]
    values = next(one.get("examples") or one.get("enum") for one in options if one.get("examples") or one.get("enum"))
    return values[0]


def arguments(operation: Operation, known: dict[str, str]) -> dict[str, Any]:
    """What the call requires."""
    fields = (*operation.path_fields, *operation.query_fields, *(operation.body_fields or ()))
    required = [field for field in fields if field.required or field.name == "organisationId"]
    made = {snake(field.name): example_of(field, known) for field in required}
    if operation.upload is not None:
        made[snake(operation.upload.name)] = ("proof.png", HONEST["image/png"], "image/png")
    if operation.id == "createWebhookSubscription":
        made["url"] = "http://127.0.0.1:9/hooks"
    return made


async def test_every_call_has_a_method_that_answers_its_record_or_its_error(
    service: Service, api: Client, client: AsyncAlmoner
) -> None:
    known = await hostile_calls.records(service, api)
    refused: dict[str, ApiError] = {}
    wrong = []
    for operation in sorted(OPERATIONS.values(), key=lambda one: (one.method == "DELETE", "{" in one.path)):
        try:
            answer = await method_of(client, operation)(**arguments(operation, known))
        except ApiError as error:
            refused[operation.id] = error
        else:
            wrong += [] if answers(operation, answer) else [operation.id]
            remember(answer, known)
    assert wrong == []
    assert [name for name, error in refused.items() if not tells_all(error)] == []
    assert len(refused) <= MOST_REFUSED * len(OPERATIONS), {name: str(error) for name, error in refused.items()}


def remember(answer: object, known: dict[str, str]) -> None:
    """The identifiers that an answer holds, by their types."""
    for record in answer.data[:1] if isinstance(answer, AsyncPage) else [answer]:
        identifier = str(getattr(record, "id", ""))
        known.setdefault(identifier.removeprefix("sandbox_").rpartition("_")[0], identifier)


def answers(operation: Operation, answer: object) -> bool:
    """Whether an answer is what its method says, with nothing that the client does not know."""
    match answer:
        case AsyncPage():
            records = answer.data
        case Record():
            records = [answer]
        case _:
            return operation.answer in ("empty", "any")
    of_type = all(type(one) is getattr(models, operation.record) and not one.unknown for one in records)
    return of_type and (answer.request_id or "").startswith("req_")


def tells_all(error: ApiError) -> bool:
    """Whether an error has a class of its own, a code, and what support asks for."""
    return type(error) is ERRORS_BY_CODE[error.code] and (error.request_id or "").startswith("req_")


def test_every_method_says_its_types(service: Service) -> None:
    client = connected(service, "key")
    for operation in OPERATIONS.values():
        signature = inspect.signature(method_of(client, operation), eval_str=True)
        assert all(one.annotation is not inspect.Parameter.empty for one in signature.parameters.values())
        returned = signature.return_annotation
        if operation.answer == "list":
            assert get_origin(returned) is AsyncPages
            assert get_args(returned) == (getattr(models, operation.record),)
        elif operation.answer == "record":
            assert issubclass(returned, Record)


async def test_a_list_goes_on_to_all_its_pages(client: AsyncAlmoner) -> None:
    made = [(await client.categories.create(name=f"Group {number:02}")).id for number in range(23)]
    assert [one.id async for one in client.categories.list(page_size=5, direction="ASC")] == made
    page = await client.categories.list(page_size=5, direction="ASC")
    assert (len(page.data), page.total_results, page.page_size) == (5, 23, 5)
    following = await page.next_page()
    assert following is not None
    back = await following.previous_page()
    assert back is not None
    assert [one.id for one in back.data] == made[:5]
    assert [len(one.data) async for one in page.pages()] == [5, 5, 5, 5, 3]


async def test_an_error_is_of_the_class_of_its_code_and_names_its_reasons(
    service: Service, client: AsyncAlmoner
) -> None:
    await client.categories.create(name="Group")
    with pytest.raises(errors.CategoryNameTaken) as taken:
        await client.categories.create(name="Group")
    assert isinstance(taken.value, errors.BadRequestError)
    assert (taken.value.code, taken.value.status) == ("category/name_taken", 400)
    with pytest.raises(errors.BadRequest) as refused:
        await client.donations.create(amount=0, currency_code="USD")
    assert any("body.amount" in reason for reason in refused.value.reasons)
    assert tells_all(refused.value)
    assert f"{refused.value.request_id}]" in str(refused.value)
    with pytest.raises(errors.NotFoundError):
        await client.donations.get(service.db.deployment.ids.example_id("donation"))
    async with connected(service, "nobody") as stranger:
        with pytest.raises(errors.AuthenticationError):
            await stranger.donations.list()


async def test_an_empty_identifier_calls_nothing(client: AsyncAlmoner) -> None:
    with pytest.raises(ValueError, match="id must not be empty"):
        await client.donations.get("")


async def test_what_is_left_out_stays_and_null_removes(service: Service, client: AsyncAlmoner) -> None:
    organisation = await factories.nonprofit(service)
    gift = {"organisation_id": organisation, "amount": 2500, "currency_code": "USD"}
    donation = await client.donations.create(**gift, metadata={"campaign_name": "winter", "kept": "yes"})  # type: ignore[arg-type]
    assert donation.metadata == {"campaign_name": "winter", "kept": "yes"}
    assert donation.created_at.tzinfo is not None
    changed = await client.donations.update(donation.id, metadata={"campaign_name": None})
    assert changed.metadata == {"kept": "yes"}
    assert (await client.donations.update(donation.id)).metadata == {"kept": "yes"}


async def test_over_a_network_that_loses_things_each_gift_is_made_once(service: Service, tenant: Tenant) -> None:
    organisation = await factories.nonprofit(service)
    transport = LossyTransport(httpx.ASGITransport(service.app, client=("127.0.0.1", 50000)), every=3)
    async with connected(service, tenant.secret, transport) as client:
        quick = client.with_options(max_retries=3)
        made = [
            await quick.donations.create(organisation_id=organisation, amount=100 + number, currency_code="USD")
            for number in range(4)
        ]
        listed = [one.amount async for one in quick.donations.list(page_size=1, direction="ASC")]
    assert listed == [100, 101, 102, 103]
    assert len({one.id for one in made}) == 4
    assert transport.lost >= 3
    keys = [one.headers["idempotency-key"] for one in transport.calls if one.method == "POST"]
    assert len(set(keys)) == 4 < len(keys)


async def test_a_connection_that_stays_lost_tells_the_key_to_try_again_with(service: Service, tenant: Tenant) -> None:
    organisation = await factories.nonprofit(service)
    transport = LossyTransport(httpx.ASGITransport(service.app, client=("127.0.0.1", 50000)), every=1)
    gift = {"organisation_id": organisation, "amount": 2500, "currency_code": "USD"}
    async with connected(service, tenant.secret, transport) as client:
        with pytest.raises(ApiConnectionError) as lost:
            await client.with_options(max_retries=1).donations.create(**gift)  # type: ignore[arg-type]
    assert len(transport.calls) == 2  # the answer of the second was lost
    async with connected(service, tenant.secret) as client:
        first = await client.donations.create(**gift, idempotency_key=lost.value.idempotency_key)  # type: ignore[arg-type]
        assert [one.id async for one in client.donations.list()] == [first.id]
