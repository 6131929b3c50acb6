#include "edge/dds/stamps.h"

#include "builtin_interfaces/Time.h"

bool nm_has_times(const struct nm_type *type)
{
    if (type == &Time_type) return true;
    for (uint32_t i = 0; i < type->n_fields; i++)
        if (type->fields[i].kind == NM_STRUCT && nm_has_times(type->fields[i].type)) return true;
    return false;
}

static void shift(Time *time, int64_t ns)
{
    static const int64_t second = 1000000000;
    if (!time->sec && !time->nanosec) return;
    int64_t sec = time->sec + ns / second, nanosec = (int64_t)(time->nanosec % second) + ns % second;
    sec += nanosec / second;
    nanosec %= second;
    if (nanosec < 0) {
        nanosec += second;
        sec--;
    }
    time->sec = (int32_t)(sec < INT32_MIN ? INT32_MIN : sec > INT32_MAX ? INT32_MAX : sec);
    time->nanosec = (uint32_t)nanosec;
}

void nm_shift_times(const struct nm_type *type, void *message, int64_t ns)
{
    if (type == &Time_type) {
        shift(message, ns);
        return;
    }
    for (uint32_t i = 0; i < type->n_fields; i++) {
        const struct nm_field *field = &type->fields[i];
        if (field->kind != NM_STRUCT || !nm_has_times(field->type)) continue;
        uint32_t n;
        unsigned char *at = nm_elements(field, (unsigned char *)message + field->offset, &n);
        for (uint32_t k = 0; k < n; k++) nm_shift_times(field->type, at + (size_t)k * field->elem, ns);
    }
}
