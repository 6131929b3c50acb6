/* A radio that uses a UDP socket of this machine. */
#pragma once

#include "edge/air/air.h"

struct nm_udp_options {
    uint32_t address;   /* of this machine to listen on; 0: all                        */
    uint16_t port;      /* 0: any free port                                            */
    bool shared;        /* other programs of this machine may listen on the same port  */
    uint32_t interface; /* address of this machine that is used for groups; 0: default */
};

/* NULL with a sentence. Closed with nm_radio_close. */
struct nm_radio *nm_udp_open(const struct nm_udp_options *options, struct nm_err *err);
uint16_t nm_udp_port(const struct nm_radio *radio);
int nm_udp_fd(const struct nm_radio *radio); /* to wait for */
