package admin

import (
	"net/http"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

// newestDeliveries is how many deliveries a page looks at.
const newestDeliveries = 100

// webhooksData is the endpoints and what was lately sent to them.
type webhooksData struct {
	Endpoints  []fieldmark.Endpoint
	Deliveries []deliveryLine
}

// deliveryLine is a delivery with the address it goes to, if that is still known.
type deliveryLine struct {
	fieldmark.Delivery
	URL string
}

func (a *area) webhooks(v *visit) error {
	endpoints, err := a.origin.Endpoints(v.r.Context(), "")
	if err != nil {
		return err
	}
	deliveries, err := a.origin.Deliveries(v.r.Context(), origin.DeliveryPage{Limit: newestDeliveries})
	if err != nil {
		return err
	}
	address := map[string]string{}
	for _, e := range endpoints {
		address[e.ID] = e.URL
	}
	d := webhooksData{Endpoints: endpoints}
	for _, one := range deliveries.Data {
		d.Deliveries = append(d.Deliveries, deliveryLine{Delivery: one, URL: address[one.EndpointID]})
	}
	return a.show(v, http.StatusOK, "webhooks", page{Title: "Webhooks", Data: d})
}
