//! Where threads tell each other what they have learned.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::cache::Cache;
use super::news::News;
use super::tables::{Key, WITHOUT_COUNT, count_of};

/// News that a thread hears between two jobs at most, however many threads there are: a job has some hundreds of pieces that
/// are new.
const HEARD: usize = 8;

/// Bytes of news that are kept for those who are behind: a thread's first job is the one that waits for its tables.
const KEPT: usize = 1 << 19;

/// Pieces between the one that is learned and the one whose line is asked for.
const AHEAD: usize = 16;

/// The last news of all threads. A lock of a moment, for which nobody waits: one that was held while another thread forked
/// stays locked in the child for ever.
#[derive(Debug, Default)]
pub struct Board(Mutex<Told>);

#[derive(Debug, Default)]
struct Told {
    /// How many there have been.
    number: usize,
    news: VecDeque<Arc<News>>,
    /// Bytes of these.
    size: usize,
}

/// What a thread has to do with a board.
#[derive(Debug, Default)]
pub struct Place {
    /// News that it has heard, or missed.
    heard: usize,
    /// The numbers of its own that are still to come.
    own: VecDeque<usize>,
}

impl Board {
    /// Teaches `cache` what others have told since it heard last; from now on it keeps what there is to tell. Neither where it
    /// is full.
    pub fn hear(&self, place: &mut Place, cache: &mut Cache) {
        if cache.is_full() {
            return;
        }
        let Ok(told) = self.0.try_lock() else { return };
        let first = told.number - told.news.len();
        let heard = place.heard.max(first);
        let new = (heard..).zip(told.news.iter().skip(heard - first)).take(HEARD);
        let new = new.filter(|&(number, _)| !place.own.contains(&number));
        let new: Vec<_> = new.map(|(_, news)| Arc::clone(news)).collect();
        place.heard = told.number.min(heard + HEARD);
        place.own.retain(|&number| number >= place.heard);
        drop(told);
        cache.news = None; // what is told is no news
        for news in new {
            teach(&news, cache);
        }
        cache.news = Some(News::default());
    }

    /// Tells what `cache` has learned since it heard.
    pub fn tell(&self, place: &mut Place, cache: &mut Cache) {
        let Some(news) = cache.news.take().filter(|news| !news.is_empty()) else { return };
        let Ok(mut told) = self.0.try_lock() else { return };
        place.own.push_back(told.number);
        told.number += 1;
        told.size += news.size();
        told.news.push_back(Arc::new(news));
        while told.size > KEPT
            && let Some(old) = told.news.pop_front()
        {
            told.size -= old.size();
        }
    }
}

fn teach(news: &News, cache: &mut Cache) {
    let key = |&(low, high): &(u64, u64)| Key { low, high: high & WITHOUT_COUNT };
    for (n, entry) in news.short.iter().enumerate() {
        if let Some(next) = news.short.get(n + AHEAD).map(key) {
            cache.prefetch_short(next.hash());
        }
        cache.learn_short(key(entry), key(entry).hash(), count_of(entry.1));
    }
    for (n, (piece, hash, count)) in news.long.iter().enumerate() {
        if let Some((next, hash, _)) = news.long.get(n + AHEAD) {
            cache.prefetch_long(&news.bytes[next.clone()], *hash);
        }
        cache.learn_long(&news.bytes[piece.clone()], *hash, *count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::hash_of;
    use crate::news::{MOST, MOST_BYTES};

    fn learned(cache: &Cache, piece: &[u8]) -> Option<usize> {
        match piece.len() {
            ..16 => {
                let key = Key::of(piece, 0, piece.len());
                cache.short(key, key.hash())
            }
            _ => cache.long(piece, hash_of(piece)),
        }
    }

    fn learn(cache: &mut Cache, piece: &[u8], count: usize) {
        match piece.len() {
            ..16 => {
                let key = Key::of(piece, 0, piece.len());
                cache.keep_short(key, key.hash(), count);
            }
            _ => cache.keep_long(piece, hash_of(piece), count),
        }
    }

    #[test]
    fn what_one_thread_learns_another_is_told_once() {
        let (board, mut caches) = (Board::default(), [Cache::default(), Cache::default()]);
        let mut places = [Place::default(), Place::default()];
        let pieces: [&[u8]; 3] = [b" word", b" a piece of more than fifteen", &[b'x'; 400]];
        board.hear(&mut places[0], &mut caches[0]);
        (0..).zip(pieces).for_each(|(n, piece)| learn(&mut caches[0], piece, n + 2));
        board.tell(&mut places[0], &mut caches[0]);
        assert_eq!(pieces.map(|piece| learned(&caches[1], piece)), [None; 3]);
        board.hear(&mut places[1], &mut caches[1]);
        assert_eq!(pieces.map(|piece| learned(&caches[1], piece)), [Some(2), Some(3), Some(4)]);
        board.tell(&mut places[1], &mut caches[1]); // it has learned nothing by itself
        assert_eq!(board.0.lock().unwrap().number, 1);
    }

    #[test]
    fn who_is_behind_hears_some_at_a_time() {
        let (board, mut teller, mut behind) = (Board::default(), Cache::default(), Cache::default());
        let (mut place, mut other) = (Place::default(), Place::default());
        for n in 0..3 * HEARD {
            board.hear(&mut place, &mut teller);
            learn(&mut teller, &n.to_le_bytes(), 1);
            board.tell(&mut place, &mut teller);
        }
        for heard in [1, 2, 3, 3] {
            board.hear(&mut other, &mut behind);
            let known = (0..3 * HEARD).filter(|n| learned(&behind, &n.to_le_bytes()).is_some());
            assert_eq!(known.count(), heard * HEARD);
        }
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let (board, mut cache, mut place) = (Board::default(), Cache::default(), Place::default());
        for round in 0..20_u8 {
            board.hear(&mut place, &mut cache);
            for n in 0..4_500_u32 {
                learn(&mut cache, &[&[round; 4], &n.to_le_bytes()[..]].concat(), 1);
                learn(&mut cache, &[&[round; 40], &n.to_le_bytes()[..]].concat(), 1);
            }
            board.tell(&mut place, &mut cache);
        }
        let mut full = Cache::default();
        (0..200_000_u32).for_each(|n| learn(&mut full, &n.to_le_bytes(), 1));
        board.hear(&mut Place::default(), &mut full);
        assert_eq!(learned(&full, &[&[19; 4], &0_u32.to_le_bytes()[..]].concat()), None);
        learn(&mut full, b"new", 1);
        board.tell(&mut Place::default(), &mut full);
        let told = board.0.lock().unwrap();
        assert!(told.number == 20 && told.news.len() < 20 && told.size <= KEPT);
        assert!(told.news.iter().all(|news| news.short.len() <= MOST && news.bytes.len() <= MOST_BYTES));
    }
}
