//! Values by name, in the order in which their names came first.

use super::words::Map;

/// A map that remembers the order of its entries.
pub struct Ordered<V> {
    places: Map<String, usize>,
    entries: Vec<(String, V)>,
}

impl<V> Default for Ordered<V> {
    fn default() -> Self {
        Self { places: Map::default(), entries: Vec::new() }
    }
}

impl<V> Ordered<V> {
    pub fn get(&self, name: &str) -> Option<&V> {
        self.places.get(name).map(|place| &self.entries[*place].1)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// The value of a name, made where there is none.
    pub fn entry(&mut self, name: &str, make: impl FnOnce() -> V) -> &mut V {
        let place = if let Some(place) = self.places.get(name) {
            *place
        } else {
            self.entries.push((name.to_owned(), make()));
            self.places.insert(name.to_owned(), self.entries.len() - 1);
            self.entries.len() - 1
        };
        &mut self.entries[place].1
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.entries.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub fn clear(&mut self) {
        self.places.clear();
        self.entries.clear();
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }
}
