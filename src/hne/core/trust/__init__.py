"""An embedding and what it was made of -> Assessment: how far it can be believed, in numbers and in a sentence."""
