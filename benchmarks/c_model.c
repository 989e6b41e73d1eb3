/* Asks a header about rows, one by one, and times it. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "model.h"

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* Rows from a file; nanoseconds per call on the output, probabilities in a file. */
int main(int argc, char **argv)
{
    const long n = argc > 2 ? atol(argv[1]) : 0, repeats = argc > 2 ? atol(argv[2]) : 0;
    REAL *x = malloc((size_t)n * MODEL_N_INPUTS * sizeof(REAL));
    REAL *p = malloc((size_t)n * MODEL_N_CLASSES * sizeof(REAL));
    FILE *in = fopen("rows", "rb"), *out = fopen("probabilities", "wb");
    long i, r, sum = 0;
    if (!x || !p || !in || !out) { return 1; }
#ifdef MODEL_ONE
    for (i = 0; i < n * MODEL_N_INPUTS; ++i) {
        double value;
        if (fread(&value, sizeof value, 1, in) != 1) { return 1; }
        x[i] = model_input((int)(i % MODEL_N_INPUTS), value);
    }
#else
    if (fread(x, sizeof(REAL) * MODEL_N_INPUTS, (size_t)n, in) != (size_t)n) { return 1; }
#endif
    for (r = 0; r < repeats; ++r) {
        double start = seconds(), middle;
        for (i = 0; i < n; ++i) { sum += model_predict(x + i * MODEL_N_INPUTS); }
        middle = seconds();
        for (i = 0; i < n; ++i) {
            sum += model_predict_proba(x + i * MODEL_N_INPUTS, p + i * MODEL_N_CLASSES);
        }
        printf("%.3f ", 1e9 * (middle - start) / (double)n);
        printf("%.3f\n", 1e9 * (seconds() - middle) / (double)n);
    }
    fprintf(stderr, "%ld\n", sum);
    return fwrite(p, sizeof(REAL) * MODEL_N_CLASSES, (size_t)n, out) != (size_t)n || fclose(out);
}
