"""The example projects for Arduino and ESP-IDF, compiled for this machine with stand-ins."""

import shutil
import subprocess
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

from sdgm import SDGMClassifier
from sdgm.export.c import to_c

EXAMPLES = Path(__file__).parents[2] / "examples"
WARNINGS = ("-Wall", "-Wextra", "-Werror")

ARDUINO = """
#include <cstdio>
#include <cstdlib>
struct Serial_ {
    void begin(long) {}
    void print(const char *text) { std::fputs(text, stdout); }
    void println(const char *text) { std::puts(text); }
    void println(long number) { std::printf("%ld\\n", number); }
};
static Serial_ Serial;
static void delay(unsigned long) { std::exit(0); }
"""
ESP_LOG = """
#include <stdio.h>
#define ESP_LOGI(tag, ...) (printf("%s: ", tag), printf(__VA_ARGS__), puts(""))
#define ESP_LOGW ESP_LOGI
"""


@pytest.fixture(scope="module")
def model():
    iris = load_iris()
    return SDGMClassifier(1, random_state=0, teacher=None).fit(
        iris.data, iris.target_names[iris.target]
    )


def said(folder, *command):
    """What the program prints that a compiler makes."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(
        [*command, *WARNINGS, "-I.", "-o", "program", "-lm"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[:3000]
    run = subprocess.run([folder / "program"], capture_output=True, text=True, check=True)
    return run.stdout


def test_the_arduino_sketch_tells_the_flowers(model, tmp_path):
    to_c(model, precision="fixed", name="iris", path=tmp_path / "iris.h")
    (tmp_path / "Arduino.h").write_text(ARDUINO)
    sketch = (EXAMPLES / "arduino" / "iris" / "iris.ino").read_text()
    ending = "\nint main() { setup(); for (;;) { loop(); } }\n"
    # as the Arduino program does before it compiles
    (tmp_path / "iris.cpp").write_text("#include <Arduino.h>\n" + sketch + ending)
    lines = said(tmp_path, "g++", "-std=c++11", "iris.cpp").splitlines()
    assert [line.split()[0] for line in lines] == ["setosa", "virginica"]
    assert all(95 <= int(line.split()[1]) <= 100 for line in lines)


def test_the_esp_idf_project_tells_the_flowers(model, tmp_path):
    to_c(model, precision="float", name="iris", path=tmp_path / "iris.h")
    (tmp_path / "esp_log.h").write_text(ESP_LOG)
    program = (EXAMPLES / "esp_idf" / "main" / "main.c").read_text()
    ending = "\nint main(void) { app_main(); return 0; }\n"
    (tmp_path / "main.c").write_text(program + ending)
    lines = said(tmp_path, "gcc", "-std=gnu17", "main.c").splitlines()
    assert [line.split(",")[0] for line in lines] == ["iris: setosa", "iris: virginica"]
    listed = (EXAMPLES / "esp_idf" / "main" / "CMakeLists.txt").read_text()
    assert '"main.c"' in listed


@pytest.mark.parametrize("source", ["arduino/iris/iris.ino", "esp_idf/main/main.c"])
def test_the_table_of_a_project_is_that_of_the_page(source):
    text = (EXAMPLES / source).read_text()
    fit = next(line for line in text.splitlines() if "sdgm fit" in line).strip("/* ")
    assert fit in (EXAMPLES.parent / "docs" / "embedded.md").read_text()
    assert f"sdgm export {fit.split()[-1]} " in text
