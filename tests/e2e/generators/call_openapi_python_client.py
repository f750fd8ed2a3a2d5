"""What openapi-python-client makes, calling the sandbox: FOLDER ADDRESS KEY."""

import sys

sys.path.insert(0, sys.argv[1])

from made import AuthenticatedClient  # type: ignore[import-not-found]
from made.api.donations import get_donation  # type: ignore[import-not-found]
from made.api.organisations import search_organisations  # type: ignore[import-not-found]
from made.models import Error, OrganisationList  # type: ignore[import-not-found]

client = AuthenticatedClient(base_url=sys.argv[2], token=sys.argv[3])
found = search_organisations.sync(client=client, query="yale university", page_size=5)
assert isinstance(found, OrganisationList), found
assert found.data[0].name
missing = get_donation.sync(client=client, id="sandbox_donation_01j3sc8phefk1smjrx5rzm0mb2")
assert isinstance(missing, Error), missing
assert missing.error.code == "not_found"
