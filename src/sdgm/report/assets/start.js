const data = JSON.parse(document.getElementById("page-data").textContent);
const trying = startTrying(data);
startFilm(data, trying);
