/* Runs a fuzz target once over every file of the folders named: the corpus as a regression test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    uint8_t *data = malloc(1 << 20);
    size_t size = data ? fread(data, 1, 1 << 20, file) : 0;
    fclose(file);
    /* an exact copy, so that a sanitizer sees the first byte read past the end */
    uint8_t *exact = malloc(size ? size : 1);
    if (data && exact) {
        memcpy(exact, data, size);
        LLVMFuzzerTestOneInput(exact, size);
    }
    free(exact);
    free(data);
    return 1;
}

int main(int argc, char **argv)
{
    int files = 0;
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (!dir) {
            fprintf(stderr, "%s: no such corpus\n", argv[i]);
            return 1;
        }
        for (struct dirent *e; (e = readdir(dir));) {
            char path[1024];
            if (e->d_name[0] == '.') continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
            files += run_file(path);
        }
        closedir(dir);
    }
    printf("%d inputs\n", files);
    return files ? 0 : 1;
}
