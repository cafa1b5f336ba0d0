//! Tokens of images and documents, from the first bytes of their data: nothing is decoded.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// What a picture is charged where its size cannot be known (a URL, a file id): one that fills Claude's standard tier.
pub const UNKNOWN_IMAGE: u32 = 1_560;

/// A text page of a PDF, as measured on Claude 4.5 to 5.5 (1,500 to 3,000 in the documentation).
const PDF_PAGE: u32 = 2_300;

/// Base64 characters that are taken for a PDF page (50 KB), a guess: page counts need the file's structure, which is
/// not read yet.
const PDF_PAGE_CHARS: usize = 67_000;

/// Base64 characters that are looked at: JPEG metadata may put the size tens of kilobytes in.
const HEADER_CHARS: usize = 128 * 1024;

/// Width and height of a base64 image, `None` if its header cannot be read.
///
/// # Examples
///
/// ```
/// let png = "iVBORw0KGgoAAAANSUhEUgAAAMgAAADIEAYAAAD9yHLdAAAA";
/// assert_eq!(trimtab_core::media::image_size(png), Some((200, 200)));
/// assert_eq!(trimtab_core::media::image_size("not an image"), None);
/// ```
#[must_use]
pub fn image_size(base64: &str) -> Option<(u32, u32)> {
    let bytes = base64.as_bytes();
    let head = &bytes[..bytes.len().min(HEADER_CHARS)];
    let whole = &head[..head.len() / 4 * 4]; // a cut inside a group of four would not decode
    let unpadded = whole.iter().rposition(|&b| b != b'=').map_or(0, |i| i + 1);
    let decoded = STANDARD_NO_PAD.decode(&whole[..unpadded]).ok()?;
    let size = imagesize::blob_size(&decoded).ok()?;
    Some((u32::try_from(size.width).ok()?, u32::try_from(size.height).ok()?))
}

/// Tokens of an image of `width` by `height` pixels on Claude's standard tier: 28-pixel patches, shrunk to fit 1,568
/// pixels a side and 1,568 tokens (Anthropic documentation, "Vision").
///
/// # Examples
///
/// ```
/// use trimtab_core::media::patches;
/// assert_eq!(patches(200, 200), 64);
/// assert_eq!(patches(1000, 1000), 1_296);
/// assert_eq!(patches(1920, 1080), 1_560);
/// ```
#[must_use]
pub fn patches(width: u32, height: u32) -> u32 {
    const EDGE: u32 = 1_568;
    const TOKENS: u32 = 1_568;
    let (long, short) = (width.max(height).max(1), width.min(height).max(1));
    let fits = |l: u32, s: u32| {
        l.div_ceil(28) * 28 <= EDGE && s.div_ceil(28) * 28 <= EDGE && l.div_ceil(28) * s.div_ceil(28) <= TOKENS
    };
    let other = |l: u32| {
        // half to even, in whole numbers
        let (n, d) = (u64::from(short) * u64::from(l), u64::from(long));
        let (q, r) = (n / d, n % d);
        let up = 2 * r > d || (2 * r == d && q % 2 == 1);
        u32::try_from(q + u64::from(up)).unwrap_or(u32::MAX).max(1)
    };
    if long <= EDGE && fits(long, short) {
        return long.div_ceil(28) * short.div_ceil(28);
    }
    let (mut low, mut high) = (1, long.min(EDGE)); // the largest long edge that fits, by bisection
    while low < high {
        let mid = (low + high).div_ceil(2);
        if fits(mid, other(mid)) { low = mid } else { high = mid - 1 }
    }
    low.div_ceil(28) * other(low).div_ceil(28)
}

/// Tokens of a base64 image; [`UNKNOWN_IMAGE`] if its header cannot be read.
#[must_use]
pub fn image_tokens(base64: &str) -> u32 {
    image_size(base64).map_or(UNKNOWN_IMAGE, |(w, h)| patches(w, h))
}

/// Tokens of a base64 document, estimated from its size alone.
#[must_use]
pub fn document_tokens(base64: &str) -> u32 {
    let pages = u32::try_from(base64.len().div_ceil(PDF_PAGE_CHARS)).unwrap_or(u32::MAX);
    pages.max(1).saturating_mul(PDF_PAGE)
}

/// Tokens of an encoded file that may be a picture: by its header, else by its size.
#[must_use]
pub fn tokens(base64: &str) -> u32 {
    image_size(base64).map_or_else(|| document_tokens(base64), |(w, h)| patches(w, h))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_examples_hold() {
        for (w, h, tokens) in
            [(200, 200, 64), (1000, 1000, 1296), (1092, 1092, 1521), (3840, 2160, 1560), (1, 8000, 56)]
        {
            assert_eq!(patches(w, h), tokens, "{w} x {h}");
        }
    }

    #[test]
    fn a_header_that_cannot_be_read_is_an_estimate() {
        for text in ["", "====", "a", "iVBORw0KGgo", "\u{1F600}\u{1F600}"] {
            assert_eq!(image_tokens(text), UNKNOWN_IMAGE, "{text:?}");
        }
    }
}
