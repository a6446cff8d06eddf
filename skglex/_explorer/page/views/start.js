openModel(JSON.parse(document.getElementById("payload").textContent)).then((model) => {
  window.model = model;
  document.getElementById("content").textContent = JSON.stringify(model.facts);
});
