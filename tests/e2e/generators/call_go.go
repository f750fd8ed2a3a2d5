// What openapi-generator makes for Go, calling the sandbox: ADDRESS KEY.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"

	made "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func main() {
	configuration := made.NewConfiguration()
	configuration.Servers = made.ServerConfigurations{{URL: os.Args[1]}}
	api := made.NewAPIClient(configuration)
	keys := map[string]made.APIKey{"secretKey": {Key: os.Args[2]}}
	ctx := context.WithValue(context.Background(), made.ContextAPIKeys, keys)

	found, _, err := api.OrganisationsAPI.SearchOrganisations(ctx).Query("yale university").PageSize(5).Execute()
	if err != nil || found.Data[0].Name == "" {
		log.Fatal("nothing was found: ", err)
	}
	_, _, err = api.DonationsAPI.GetDonation(ctx, "sandbox_donation_01j3sc8phefk1smjrx5rzm0mb2").Execute()
	var failure *made.GenericOpenAPIError
	if !errors.As(err, &failure) {
		log.Fatal("the call did not fail: ", err)
	}
	if missing, ok := failure.Model().(made.Error); !ok || missing.Error.Code != "not_found" {
		log.Fatal("another error: ", err)
	}
	var event made.DonationCreatedEvent
	err = json.Unmarshal([]byte(`{"id": "1", "eventType": "donation.created", "eventData": {"id": "2"}}`), &event)
	if err != nil || event.Id != "1" || event.EventData.Id != "2" {
		log.Fatal("another event: ", event, err)
	}
}
