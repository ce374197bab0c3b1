// All memory by address: a treap, so that a look-up among 100,000 blocks takes some 20 steps.
#include <stdlib.h>

#include "state.h"

static struct Block* root;

static unsigned random_priority(void) {
  static unsigned state = 2463534242u;
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

// Splits a tree into the blocks below `base` and the others.
static void split(struct Block* tree, const char* base, struct Block** below, struct Block** rest) {
  while (tree != NULL) {
    if (tree->base < base) {
      *below = tree;
      below = &tree->right;
      tree = tree->right;
    } else {
      *rest = tree;
      rest = &tree->left;
      tree = tree->left;
    }
  }
  *below = NULL;
  *rest = NULL;
}

// All of `low` lies below all of `high`.
static struct Block* merge(struct Block* low, struct Block* high) {
  struct Block* merged = NULL;
  struct Block** link = &merged;
  while (low != NULL && high != NULL) {
    if (low->priority > high->priority) {
      *link = low;
      link = &low->right;
      low = low->right;
    } else {
      *link = high;
      link = &high->left;
      high = high->left;
    }
  }
  *link = low != NULL ? low : high;
  return merged;
}

bool add_block(struct Block block) {
  struct Block* made = malloc(sizeof *made);
  if (made == NULL) return false;
  *made = block;
  made->priority = random_priority();
  made->serial = next_serial();
  struct Block** link = &root;
  while (*link != NULL && (*link)->priority > made->priority) {
    link = (*link)->base < made->base ? &(*link)->right : &(*link)->left;
  }
  split(*link, made->base, &made->left, &made->right);
  *link = made;
  if (made->kind == MEMORY) made->context->used += made->bytes;
  count(made->context, made->kind, 1);
  return true;
}

void remove_block(struct Block* block) {
  struct Block** link = &root;
  while (*link != block) link = (*link)->base < block->base ? &(*link)->right : &(*link)->left;
  *link = merge(block->left, block->right);
  if (block->kind == MEMORY) block->context->used -= block->bytes;
  count(block->context, block->kind, -1);
  free(block);
}

// The last block that begins at or below an address.
static struct Block* last_from(const char* address) {
  struct Block* found = NULL;
  for (struct Block* block = root; block != NULL;) {
    if (block->base <= address) {
      found = block;
      block = block->right;
    } else {
      block = block->left;
    }
  }
  return found;
}

struct Block* find_block(const void* address) {
  struct Block* block = last_from(address);
  return block != NULL && (const char*)address < block->base + block->bytes ? block : NULL;
}

struct Block* find_overlap(const void* address, size_t bytes) {
  struct Block* block = last_from((const char*)address + bytes - 1);
  return block != NULL && block->base + block->bytes > (const char*)address ? block : NULL;
}
