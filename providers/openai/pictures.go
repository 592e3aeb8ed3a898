package openai

// PictureTokens returns the tokens of a picture in high detail: it is scaled into a square of 2,048
// pixels, then to a shortest side of 768; each tile of 512 by 512 pixels takes 170 tokens, and 85
// come on top (https://platform.openai.com/docs/guides/images-vision#calculating-costs).
func (p *Provider) PictureTokens(width, height int) int {
	const square, shortest, tile, perTile, base = 2048, 768, 512, 170, 85
	if longest := max(width, height); longest > square {
		width, height = width*square/longest, height*square/longest
	}
	if short := min(width, height); short > shortest {
		width, height = width*shortest/short, height*shortest/short
	}
	tiles := max((width+tile-1)/tile, 1) * max((height+tile-1)/tile, 1)
	return base + perTile*tiles
}
