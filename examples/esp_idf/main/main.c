/*
 * A model on an ESP32, whose processor has single precision. The table is that of
 * docs/embedded.md; put the header beside this file:
 *
 *   sdgm fit data.csv --target label -o model.sdgm
 *   sdgm export model.sdgm --to c --precision float --name iris -o iris.h
 */
#include "esp_log.h"
#include "iris.h"

static const char *const TAG = "iris";

static const float flowers[][IRIS_N_INPUTS] = {
    {5.1f, 3.5f, 1.4f, 0.2f},
    {6.3f, 3.3f, 6.0f, 2.5f},
};

void app_main(void)
{
    for (size_t i = 0; i < sizeof flowers / sizeof flowers[0]; ++i) {
        float p[IRIS_N_CLASSES];
        const int c = iris_predict_proba(flowers[i], p);
        if (c < 0) {
            ESP_LOGW(TAG, "refused");
            continue;
        }
        ESP_LOGI(TAG, "%s, probability %.3f", iris_class_name(c), (double)p[c]);
    }
}
