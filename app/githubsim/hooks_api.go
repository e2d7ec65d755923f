package githubsim

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
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

// listDeliveries pages by cursor and not by number: deliveries arrive while one reads.
func listDeliveries(c *call) (*reply, error) {
	all := knownAlone(c, c.ours(), func(d Delivery) int64 { return d.ID })
	if at := c.query("cursor"); at != "" {
		id, err := strconv.ParseInt(strings.TrimPrefix(at, cursorPrefix), 10, 64)
		if err != nil {
			return nil, refuse(http.StatusUnprocessableEntity, "Invalid cursor")
		}
		all = slices.DeleteFunc(all, func(d Delivery) bool { return d.ID > id })
	}
	size := 30
	if v, err := strconv.Atoi(c.query("per_page")); err == nil && v > 0 {
		size = min(v, maxPerPage)
	}
	if len(all) > size {
		q := c.r.URL.Query()
		q.Set("cursor", cursorPrefix+strconv.FormatInt(all[size].ID, 10))
		c.link = "<" + c.sim.url + c.r.URL.Path + "?" + q.Encode() + `>; rel="next"`
		all = all[:size]
	}
	list := []obj{}
	for _, d := range all {
		list = append(list, c.deliveryJSON(d))
	}
	return ok(list)
}

// cursorPrefix begins a cursor, which is the id of the newest delivery of its page.
const cursorPrefix = "v1_"

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
	it := q.find(func(it *hookItem) bool { return it.ID == d.ID && it.Body != nil })
	if it == nil {
		return nil, notFound()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.push(it)
	q.touch()
	return &reply{status: http.StatusAccepted, body: obj{}}, nil
}
