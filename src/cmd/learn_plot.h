/* The learning curve as a picture: reward, falls, speeds that were reached and power, over the steps of the policy. */
#pragma once

#include "learn/trainer.h"

/* FILE.svg or FILE.png. */
int learn_plot(const struct nm_learned *curve, uint32_t n, const char *title, const char *path, struct nm_err *err);
