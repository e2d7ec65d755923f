package githubsim

import (
	"encoding/json"
	"net/http"
	"slices"
)

func hookRoutes() []route {
	return []route{
		{"GET /app/hook/deliveries", appOnly, "", listDeliveries},
		{"GET /app/hook/deliveries/{delivery_id}", appOnly, "", getDelivery},
		{"POST /app/hook/deliveries/{delivery_id}/attempts", appOnly, "", redeliver},
	}
}

func (c *call) deliveryJSON(d Delivery) obj {
	status := "OK"
	if d.State == stateFailed {
		status = "Invalid HTTP Response: " + http.StatusText(d.Status)
	}
	o := obj{
		"id": d.ID, "guid": d.GUID, "delivered_at": stamp(d.QueuedAt), "redelivery": d.Attempts > 1, "duration": d.Duration.Seconds(),
		"status": status, "status_code": d.Status, "event": d.Event, "action": orNull(d.Action), "installation_id": nil, "repository_id": nil,
		"throttled_at": nil,
	}
	if d.InstallationID != 0 {
		o["installation_id"] = d.InstallationID
	}
	for _, r := range c.sim.repoList {
		if r.fullName() == d.Repository {
			o["repository_id"] = r.id
		}
	}
	return o
}

// ours are the App's deliveries that were tried, newest first.
func (c *call) ours() []Delivery {
	var out []Delivery
	for _, d := range slices.Backward(c.sim.hooks.list()) {
		if d.App == c.me.app.spec.Slug && d.Attempts > 0 {
			out = append(out, d)
		}
	}
	return out
}

func listDeliveries(c *call) (*reply, error) {
	all := c.ours()
	from, to := c.page(len(all))
	list := []obj{}
	for _, d := range all[from:to] {
		list = append(list, c.deliveryJSON(d))
	}
	return ok(list)
}

func (c *call) delivery() (Delivery, error) {
	id, err := c.id("delivery_id")
	if err != nil {
		return Delivery{}, err
	}
	for _, d := range c.ours() {
		if d.ID == id {
			return d, nil
		}
	}
	return Delivery{}, notFound()
}

func getDelivery(c *call) (*reply, error) {
	d, err := c.delivery()
	if err != nil {
		return nil, err
	}
	o := c.deliveryJSON(d)
	o["request"] = obj{"headers": obj{"X-GitHub-Event": d.Event, "X-GitHub-Delivery": d.GUID}, "payload": json.RawMessage(d.Body)}
	o["response"] = obj{"headers": obj{}, "payload": ""}
	return ok(o)
}

// redeliver queues the delivery once more: same id, same body.
func redeliver(c *call) (*reply, error) {
	d, err := c.delivery()
	if err != nil {
		return nil, err
	}
	q := c.sim.hooks
	it := q.find(func(it *hookItem) bool { return it.ID == d.ID })
	q.mu.Lock()
	defer q.mu.Unlock()
	q.push(it)
	q.touch()
	return &reply{status: http.StatusAccepted, body: obj{}}, nil
}
