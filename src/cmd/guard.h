/* A command that is started again when it dies. Its guard only waits: it opens no file and no device, so that hardly
 * anything that ends a player ends it, too. */
#pragma once

/* Returns -1 in every process that is to play; in the guard, at the end, the code to exit with. To be called before
 * there are threads. What ends in order, or cannot live for two seconds five times in a row, is not started again. */
int guard_begin(const char *what);
