package anthropic

// PictureTokens returns the tokens of a picture: one for each 750 pixels, after it is scaled to a
// longest side of 2,576 pixels and to 4,784 tokens
// (https://platform.claude.com/docs/en/build-with-claude/vision). Models before Claude Opus 4.7
// scale to 1,568 pixels and about 1,600 tokens, so that this counts too many for them, never too few.
func (p *Provider) PictureTokens(width, height int) int {
	const longest, pixels, most = 2576, 750, 4784
	if side := max(width, height); side > longest {
		width, height = width*longest/side, height*longest/side
	}
	return min(max((width*height+pixels-1)/pixels, 1), most)
}
