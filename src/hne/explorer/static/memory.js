// What a tab showed last -> hooks of a workbench that begins with it when the page is loaded again.

// `storage()` is that of the tab; a browser may forbid it, and then every page begins anew.
export function rememberedBy(storage, key) {
  return {
    start: () => {
      try {
        const kept = JSON.parse(storage().getItem(key));
        return kept?.parameters ? kept : null;
      } catch {
        return null;
      }
    },
    settings: (request) => {
      try {
        storage().setItem(key, JSON.stringify(request));
      } catch {
        // Forbidden or full: nothing to do about it.
      }
    },
  };
}
