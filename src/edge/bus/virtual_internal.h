/* Shared by the parts of the virtual bus: virtual.c (wires and time), virtual_device.c (control tables and the built-in
 * servo), virtual_instructions.c (what a packet does), virtual_pty.c (thread and terminals). */
#ifndef NM_EDGE_BUS_VIRTUAL_INTERNAL_H
#define NM_EDGE_BUS_VIRTUAL_INTERNAL_H

#include "edge/bus/virtual.h"

#include <pthread.h>

enum { VBUS_INSTRUCTIONS = 32, VBUS_OUT = 4096, VBUS_CHAIN = NM_VBUS_DEVICES };

/* An instruction on its way: its last byte is on the wire at `end`. */
struct vinstruction {
    int64_t start, end;
    uint8_t protocol, id, code;
    uint16_t n;
    uint8_t data[NM_DXL_PACKET_MAX];
};

/* An answer that is due when its turn in the chain comes. */
struct vanswer {
    struct nm_vdevice *device; /* NULL: nobody there; the router board's own answer */
    uint16_t address, size;
    uint8_t error;
    bool ping;
};

struct vbyte {
    int64_t at; /* when the host can read it */
    uint8_t byte;
};

struct vwire {
    bool used, router, plugged;
    int64_t byte_ns;  /* of the host's link                                        */
    int64_t lane_ns;  /* of the buses behind a router board                        */
    int64_t host_end; /* the host's last byte is out                               */
    struct nm_dxl_parser parser;
    struct vinstruction queue[VBUS_INSTRUCTIONS]; /* oldest at queue_at            */
    uint32_t queue_at, queue_n;
    struct vanswer chain[VBUS_CHAIN]; /* answers to the instruction under way      */
    uint32_t chain_at, chain_n;
    uint8_t chain_protocol;
    bool chain_router;            /* one combined answer for the whole chain                  */
    int64_t chain_start;          /* first byte of the answer whose turn it is              */
    int64_t talk_start, talk_end; /* the answer given last                         */
    struct vbyte out[VBUS_OUT];   /* bytes for the host, oldest at out_at            */
    uint32_t out_at, out_n;
    struct nm_vbus_counts counts;
    int master, slave; /* of the pseudo terminal, -1 without                       */
    char link[256];
};

struct nm_vbus {
    struct nm_vbus_settings settings;
    double volts;
    int64_t now; /* simulated                                                      */
    struct vwire wires[NM_BUS_WIRES];
    struct nm_vdevice *devices[NM_VBUS_DEVICES];
    uint32_t n;
    bool threaded, stop;
    int wake; /* eventfd that ends the thread's poll                               */
    pthread_t thread;
    pthread_mutex_t mutex;
};

int64_t vbus_now(const struct nm_vbus *bus);

/* virtual.c */
void vbus_host_bytes(struct nm_vbus *bus, struct vwire *w, const uint8_t *bytes, size_t n, int64_t now);
void vbus_run(struct nm_vbus *bus, int64_t now);
int64_t vbus_next(const struct nm_vbus *bus); /* time of the next event, INT64_MAX: none */
size_t vbus_take(struct vwire *w, uint8_t *bytes, size_t room, int64_t now);

/* virtual_instructions.c */
void vbus_execute(struct nm_vbus *bus, int wire, const struct vinstruction *in);
size_t vbus_render(struct nm_vbus *bus, int wire, const struct vanswer *a, int64_t now, uint8_t *out, size_t room);

/* virtual_device.c */
void vdevice_init(struct nm_vdevice *d, const struct nm_dxl_model *model, uint8_t id, int wire);
bool vdevice_listens(const struct nm_vdevice *d, int64_t now);
void vdevice_step(struct nm_vdevice *d, int64_t now);
void vdevice_refresh(struct nm_vbus *bus, struct nm_vdevice *d, int64_t now);
uint8_t vdevice_error(const struct nm_vbus *bus, const struct nm_vdevice *d);
uint8_t vdevice_write(struct nm_vbus *bus, struct nm_vdevice *d, uint16_t address, const uint8_t *bytes, uint16_t size,
                      int64_t now);
void vdevice_boot(struct nm_vbus *bus, struct nm_vdevice *d, int64_t now);
void vbus_update_power(struct nm_vbus *bus, int64_t now);

#endif
