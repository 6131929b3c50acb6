/* A page on which somebody looks at pictures and answers: a live server without a robot, with one service
 * (nutmeg_msgs/Pictures). `nutmeg label` and `nutmeg calibrate camera --page` are made of it. */
#pragma once

#include "cmd/setup.h"
#include "nutmeg_msgs/Pictures.h"

struct pictures {
    const char *page; /* of the address: "label"          */
    const char *port; /* "": the usual one, or any        */
    /* Runs in the server's thread. */
    void (*answer)(void *user, const Pictures_Request *request, Pictures_Response *response);
    bool (*over)(void *user); /* asked 10 times a second; NULL: only a signal ends it */
    void *user;
};

/* Prints the address and serves until it is over. -1 with a sentence. */
int pictures_serve(struct setup *setup, const struct pictures *pictures, struct nm_err *err);

/* Puts a picture from a file into an answer, as JPEG of the best quality that has room. -1 with a sentence. */
int pictures_put(Pictures_Response *response, const char *path, uint32_t *width, uint32_t *height, struct nm_err *err);
