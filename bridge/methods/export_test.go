package methods

var ShapeTexts = shapeTexts
