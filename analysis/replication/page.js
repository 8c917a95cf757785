"use strict";

const plots = JSON.parse(document.getElementById("plots").textContent);
for (const [id, drawing] of Object.entries(plots)) {
  Plotly.newPlot(id, drawing.data, drawing.layout, { displayModeBar: false, responsive: true });
}
