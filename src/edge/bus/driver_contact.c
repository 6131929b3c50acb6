/* Who answers and who does not: counting, blaming, losing and finding devices, and where answers go. */
#include "edge/bus/driver_internal.h"

enum { DISTURBED_NS = 25000000 /* a late answer spoils no more than the next cycle or two */ };

static void lose(struct nm_bus_driver *bus, struct device *d)
{
    if (d->lost) return;
    d->lost = true;
    d->probe_wait = nanoseconds(bus->set.probe_first);
    d->probe_at = bus->now + d->probe_wait;
    if (d->servo >= 0) servo_lost(&bus->servos[d->servo]);
}

/* Whoever fails first has failed by itself. What fails soon behind it may have been talked over by a late answer, or
 * stuck behind it, and is not blamed; and who spoils it for two others is left out at once. */
bool contact_disturbed(struct nm_bus_driver *bus, struct wire *w, struct device *d)
{
    int64_t now = bus->io.now(bus->io.self);
    bool other = w->disturber && w->disturber != d && now - w->disturbed_at < DISTURBED_NS;
    if (other) {
        if (++w->disturbed >= 2) lose(bus, w->disturber);
        return false;
    }
    if (w->disturber != d || now - w->disturbed_at >= DISTURBED_NS) w->disturbed = 0;
    w->disturber = d;
    w->disturbed_at = now;
    return true;
}

void contact_missed(struct nm_bus_driver *bus, struct wire *w, const struct request *r, struct item *item,
                    enum blame blame)
{
    struct device *d = item->device;
    item->done = item->missed = true;
    if (r->probe) {
        d->probe_wait = d->probe_wait ? 2 * d->probe_wait : nanoseconds(bus->set.probe_first);
        if (d->probe_wait > nanoseconds(bus->set.probe_longest)) d->probe_wait = nanoseconds(bus->set.probe_longest);
        d->probe_at = bus->now + d->probe_wait;
        contact_disturbed(bus, w, d);
        if (r->kind == ASK_REBOOT)
            d->reboot = false;
        else if (!d->lost && ++d->identify_tries >= bus->set.lost_after && !d->answered)
            lose(bus, d);
        return;
    }
    d->missed++;
    d->silent++;
    d->missed_now = true;
    /* it may have been reset: no goals before its torque switch was seen */
    if (d->servo >= 0) bus->servos[d->servo].check = true, bus->servos[d->servo].verified = false;
    bool own = contact_disturbed(bus, w, d);
    if (own) d->blame = blame;
    if (d->silent >= bus->set.lost_after * (own ? 1 : 2)) lose(bus, d);
}

/* Somebody is back: whoever was lost with it may be back too. */
static void found(struct nm_bus_driver *bus, struct device *d)
{
    d->lost = false;
    d->probe_wait = 0;
    if (d->servo >= 0) servo_found(&bus->servos[d->servo]);
    for (int i = 0; i < bus->n_devices; i++)
        if (bus->devices[i].wire == d->wire && bus->devices[i].lost) bus->devices[i].probe_at = bus->now;
}

static void identified(struct nm_bus_driver *bus, struct device *d, struct span span, const uint8_t *data)
{
    const struct nm_dxl_register *delay = d->return_delay;
    uint16_t number = (uint16_t)nm_dxl_get(data, 2);
    const struct nm_dxl_model *is = nm_dxl_model_by_number(number, d->model->protocol);
    d->identified = true;
    d->delay_wrong = span_covers(span, delay) && data[delay->address] != 0;
    if (number != d->model->number)
        fault_seen(bus, &d->faults[NM_BUS_FAULT_MODEL], NM_BUS_FAULT_MODEL, d, "is a %s (model %u), the table says %s",
                   is ? is->name : "stranger", number, d->model->name);
}

static void acknowledged(struct nm_bus_driver *bus, const struct request *r, const struct item *item)
{
    struct device *d = item->device;
    if (r->kind == ASK_REBOOT) {
        d->reboot = false;
        if (d->servo >= 0) {
            servo_found(&bus->servos[d->servo]);
            bus->servos[d->servo].hardware = 0;
            bus->servos[d->servo].arm_again = 0;
        }
    }
    if (d->board < 0) {
        d->delay_wrong = false; /* the only single write to a servo */
        return;
    }
    struct board *b = &bus->boards[d->board];
    uint32_t value = nm_dxl_get(r->data, 4);
    if (b->dxl_power && b->dxl_power->address == item->span.address) {
        b->dxl_power_read = -1;
        if (value) b->power_since = bus->now;
    }
    for (int i = 0; i < 3; i++)
        if (b->led[i] && b->led[i]->address == item->span.address) b->led_sent[i] = value, b->led_known[i] = true;
}

void contact_data(struct nm_bus_driver *bus, const struct request *r, const struct item *item, const uint8_t *data)
{
    struct device *d = item->device;
    if (r->kind == ASK_WRITE || r->kind == ASK_REBOOT)
        acknowledged(bus, r, item);
    else if (r->probe && item->span.address == 0)
        identified(bus, d, item->span, data);
    else if (d->servo >= 0)
        servo_read(bus, &bus->servos[d->servo], item->span, data);
    else
        board_read(bus, &bus->boards[d->board], item->span, data);
}

void contact_answered(struct nm_bus_driver *bus, const struct request *r, struct item *item, uint8_t error,
                      const uint8_t *data)
{
    struct device *d = item->device;
    item->done = true;
    bool news = error & ~d->error & (NM_DXL_OVERLOAD | NM_DXL_OVERHEATING) && d->model->protocol == 1;
    if (d->servo >= 0 && news) bus->servos[d->servo].check = true; /* has it shut itself off? */
    d->error = error;
    d->answered++;
    d->silent = 0;
    if (d->servo >= 0) bus->wires[d->wire].servos_answered++;
    if (d->lost) found(bus, d);
    bool refused = error & (d->model->protocol == 2 ? 0x7F : NM_DXL_RANGE | NM_DXL_INSTRUCTION);
    if (r->kind != ASK_WRITE || !refused) contact_data(bus, r, item, data);
    /* 2.0: something is latched, have a look */
    if (d->servo >= 0 && d->model->protocol == 2 && error & NM_DXL_ALERT && !bus->servos[d->servo].hardware)
        bus->servos[d->servo].check = true;
}
