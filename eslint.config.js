import tseslint from 'typescript-eslint';

// Biome formats and lints; these are the rules that need types.
export default tseslint.config(
  {
    ignores: [
      '**/dist/**',
      '**/grpc/gen/**',
      '.zerohop/**',
      '**/*.config.ts',
      '**/*.mjs',
      '**/*.cjs',
      '**/*.js',
      'tsup.base.ts',
    ],
  },
  {
    files: ['**/*.ts'],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    plugins: { '@typescript-eslint': tseslint.plugin },
    rules: {
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-unnecessary-type-assertion': 'error',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/prefer-promise-reject-errors': 'error',
      '@typescript-eslint/return-await': ['error', 'in-try-catch'],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
    },
  },
);
