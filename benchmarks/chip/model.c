/* A header of `to_c` on a board: NUMBER is its type, LABEL asks for the class alone. */
#include "model.h"

typedef struct {
    int32_t c;
    int32_t pad;
#ifndef LABEL
    NUMBER p[MODEL_N_CLASSES];
#endif
} Answer;

void ask(const void *row, void *answer);

void ask(const void *row, void *answer)
{
    Answer *const a = answer;
#ifdef LABEL
    a->c = model_predict(row);
#else
    a->c = model_predict_proba(row, a->p);
#endif
}
