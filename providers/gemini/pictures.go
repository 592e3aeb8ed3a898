package gemini

// PictureTokens returns the tokens of a picture: 258 for one of at most 384 pixels on both sides, else
// 258 for each tile of 768 by 768 pixels (https://ai.google.dev/gemini-api/docs/image-understanding).
func (p *Provider) PictureTokens(width, height int) int {
	const small, tile, perTile = 384, 768, 258
	if width <= small && height <= small {
		return perTile
	}
	return perTile * max((width+tile-1)/tile, 1) * max((height+tile-1)/tile, 1)
}
