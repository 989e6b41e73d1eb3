// A model on an Arduino, in whole numbers. The table is that of docs/embedded.md; put the
// header beside this file:
//
//   sdgm fit data.csv --target label -o model.sdgm
//   sdgm export model.sdgm --to c --precision fixed --name iris -o iris.h

#include "iris.h"

// What the sensors say: tenths of a centimetre, in the order of the columns of the table.
static const int32_t flowers[][IRIS_N_INPUTS] = {
    {51, 35, 14, 2},
    {63, 33, 60, 25},
};

void setup() {
  Serial.begin(115200);
}

void loop() {
  for (const auto &flower : flowers) {
    int32_t x[IRIS_N_INPUTS], p[IRIS_N_CLASSES];
    for (int i = 0; i < IRIS_N_INPUTS; ++i) {
      // in the unit of the input: two to the power of minus iris_input_bits[i]
      x[i] = (int32_t)(flower[i] * ((int64_t)1 << iris_input_bits[i]) / 10);
    }
    const int c = iris_predict_proba(x, p);
    if (c < 0) {
      Serial.println("refused");
      continue;
    }
    Serial.print(iris_class_name(c));
    Serial.print(" ");
    Serial.println((long)((int64_t)p[c] * 100 / IRIS_ONE));
  }
  delay(1000);
}
