// What a call reached, by the places of a planted module that it came by: far quicker than to ask the engine. Has the same
// words as `Cover`, which stands in where nothing could be planted.
'use strict';

class Reach {
  constructor(faults) {
    this.faults = faults;
    this.seen = new Set();
    this.base = new Set();
  }

  clear() {
    this.faults.clear();
  }

  // Of a function without any place, it counts that it was called.
  look(name) {
    const ways = this.faults.ways();
    if (ways.length === 0 && name) ways.push(name);
    this.faults.clear();
    return { path: ways.join('.'), ways };
  }

  isNew({ ways }, seen = this.seen) {
    return ways.some((way) => !seen.has(way));
  }

  learn({ ways }, seen = this.seen) {
    for (const way of ways) seen.add(way);
  }

  // Tests of the project have been seen by now.
  settle() {
    this.base = new Set(this.seen);
  }

  // What those reach, to go on from.
  start() {
    return new Set(this.base);
  }

  // Places that nothing came by, or by one way alone.
  opened() {
    return this.faults.places.filter(({ id, ways }) => (ways === 2 ? !this.seen.has(2 * id) || !this.seen.has(2 * id + 1) : !this.seen.has(2 * id)));
  }

  isOpen() {
    return this.opened().length > 0;
  }

  // Those on wanted lines: their functions, and where they are.
  open(isWanted) {
    const found = { bodies: new Set(), places: [], ids: new Set() };
    for (const place of this.opened()) {
      if (!isWanted(place.line)) continue;
      found.bodies.add(place.body);
      found.ids.add(place.id);
      found.places.push(place.at);
    }
    this.bodyOf = this.bodyOf || new Map(this.faults.places.map((place) => [place.id, place.body]));
    return found;
  }

  // Whether a call comes near what is open: into the same function.
  isNear({ ways }, { bodies }) {
    return ways.some((way) => typeof way === 'number' && bodies.has(this.bodyOf.get(way >> 1)));
  }
}

module.exports = { Reach };
