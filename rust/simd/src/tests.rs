use super::*;

/// All that a page says of some bytes.
struct Everything<'a> {
    bytes: &'a [u8; WIDE + 1],
    known: &'a [u8; 16],
}

impl Work for Everything<'_> {
    type Output = Vec<u64>;

    #[inline(always)]
    fn run(self, kernel: impl Kernel) -> Vec<u64> {
        let window = self.bytes.first_chunk().expect("65 bytes");
        let bytes = kernel.load(window);
        let mut all = vec![kernel.non_ascii(bytes), kernel.letters(bytes), kernel.pairs(self.bytes, self.known)];
        for byte in [0, b' ', b'\'', b'a', 0x7F, 0x80, 0xE4, 0xFF] {
            all.push(kernel.equal(bytes, byte));
        }
        for (first, last) in [(9, 13), (b'0', b'9'), (b'!', b'~'), (0x80, 0xBF), (0xB8, 0xFF), (0x70, 0x90), (0, 0)] {
            all.push(kernel.within(bytes, first, last));
        }
        let line: &Line = &bytemuck::cast(*window);
        for place in 0..4 {
            let key = [line[place], line[place + 4] & !0xF0];
            all.push(kernel.find(line, key, !0xF0).map_or(99, |place| place as u64));
        }
        all.push(kernel.find(line, [1, 2], !0xF0).map_or(99, |place| place as u64));
        let near: &[u8; NEAR] = window.first_chunk().expect("64 bytes");
        all.push(kernel.first_special(near) as u64);
        let key = window.first_chunk().expect("64 bytes");
        all.extend(kernel.key(key, u128::MAX >> 40, 7 << 120));
        all
    }
}

/// Returns the masks of a window by one look at each byte.
fn slowly(bytes: &[u8; WIDE + 1]) -> Vec<u64> {
    let mask = |is: &dyn Fn(u8) -> bool| (0..WIDE).map(|place| u64::from(is(bytes[place])) << place).sum::<u64>();
    let mut all = vec![mask(&|b| !b.is_ascii()), mask(&|b| b.is_ascii_alphabetic())];
    for byte in [0, b' ', b'\'', b'a', 0x7F, 0x80, 0xE4, 0xFF] {
        all.push(mask(&|b| b == byte));
    }
    for (first, last) in [(9, 13), (b'0', b'9'), (b'!', b'~'), (0x80, 0xBF), (0xB8, 0xFF), (0x70, 0x90), (0, 0)] {
        all.push(mask(&|b| (first..=last).contains(&b)));
    }
    all
}

fn random(seed: &mut u64) -> u8 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    (*seed >> 56) as u8
}

#[test]
fn every_page_means_what_single_bytes_mean() {
    let seed = &mut 1;
    for round in 0..20_000 {
        let bytes = std::array::from_fn(|_| if round % 2 == 0 { random(seed) } else { random(seed) % 0x60 + 0x20 });
        let known = std::array::from_fn(|_| random(seed));
        let mut found = run(Everything { bytes: &bytes, known: &known });
        assert_eq!(found, Everything { bytes: &bytes, known: &known }.run(Portable));
        found.remove(2);
        assert_eq!(found[..17], slowly(&bytes));
    }
}

struct First<'a>(&'a [u8; NEAR]);

impl Work for First<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self, kernel: impl Kernel) -> usize {
        kernel.first_special(self.0)
    }
}

#[test]
fn the_first_special_byte_is_found_wherever_it_stands() {
    for byte in [b'"', b'\\', 0, 0x1f, b'\n'] {
        for at in 0..40 {
            let mut bytes = [0xC3; 40];
            bytes[at] = byte;
            assert_eq!(find_special(&bytes, 0), at);
            let window = bytes.first_chunk().expect("40 bytes");
            assert_eq!((First(window).run(Portable), run(First(window))), (at.min(NEAR), at.min(NEAR)));
        }
    }
    let text = b"plain \x20 text \x7f \xff, long";
    assert_eq!(find_special(text, 3), text.len());
    assert_eq!(run(First(&[0xE0; NEAR])), NEAR);
}

#[test]
fn code_points_are_written_as_a_string_has_them() {
    let edges = [0, 0x41, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x1_0000, 0x10_FFFF];
    let seed = &mut 1;
    for length in 0..2_000 {
        let units: Vec<u32> = (0..length % 70).map(|_| edges[usize::from(random(seed)) % edges.len()]).collect();
        let text: String = units.iter().filter_map(|unit| char::from_u32(*unit)).collect();
        let mut out = vec![0; capacity_for(units.len())];
        let written = transcode(&units, &mut out);
        assert_eq!(str::from_utf8(&out[..written]), Ok(text.as_str()));
        let written = Transcode { units: &units, out: &mut out }.run(Portable);
        assert_eq!(str::from_utf8(&out[..written]), Ok(text.as_str()));
    }
}

#[test]
fn every_character_is_written_and_no_surrogate_is_utf8() {
    for first in (0..0x11_0000).step_by(4) {
        let units: [u32; 4] = std::array::from_fn(|n| first + n as u32);
        let mut out = [0; capacity_for(4)];
        let length = transcode(&units, &mut out);
        let text: Option<String> = units.iter().map(|unit| char::from_u32(*unit)).collect();
        assert_eq!(str::from_utf8(&out[..length]).ok(), text.as_deref(), "{first:x}");
    }
}
